// Package brokerfile reads a broker's properties file, with the references in it replaced by what the machine says:
//
//	${env:NAME}   the environment variable NAME, which must be set
//	${file:PATH}  the content of the file PATH without the white space around it
//
// A file that is there and empty is not an error of the file that names it: somebody is yet to fill it, and [File.Pending] lists it.
// The settings are checked all the same, with an empty text in its place, so that what is wrong shows before anybody waits.
package brokerfile
