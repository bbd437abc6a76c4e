// Package handler answers Kafka's requests: one file for each API, which checks the request, commands the parts that do the
// work (packages partition, coordinator, quorum) and makes the reply. It decides nothing about partitions, groups or the
// cluster, and it knows no sockets: package conn calls [Handler.Handle] with one request at a time per connection.
//
// A handler never blocks the connection's reader. What can be answered from memory is answered at once; what waits for
// replication, for the quorum or for new records is a pending reply, completed by the goroutine for which it waited or by
// one that the handler starts and that ends with the request's own time limit.
//
// # What is served
//
// The table in apis.go is the only list: an API that is not in it is not advertised, and a request for it ends the
// connection, as Kafka does. docs/compatibility.md says what of each API is missing.
//
// # Requests for the controller
//
// Changes of the cluster go to the quorum's leader by [Controller.Do], as the client sent them and at the highest version
// we know. Before such a change is answered, this broker's own image has caught up with it, and for a while the
// controller's client waits for those of the others: a client that then asks any of them sees what it changed (Kafka leaves this to retries).
package handler
