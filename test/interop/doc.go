// Package interop runs other people's clients, tools and test suites against a cluster. `make interop` runs it.
//
//	CLUSTER        control command of the cluster under test (package control); without it nothing runs
//	KAFKA          control command of Apache Kafka with its command-line tools; without it their tests are skipped
//	INTEROP_FILE   text file whose lines kcat sends, at least 100 MB; without it one is made of Go's own sources
//	INTEROP_KGO_RECORDS   records of franz-go's larger tests, 50000 by default
//
// kcat comes from the Debian package of its name; franz-go's tests are in its module, which the module cache has.
package interop
