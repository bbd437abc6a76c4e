// Package peer is a broker's connection to another broker: requests pipelined in order, replies matched in order, dialled again
// after failure, bounded in requests and bytes. It knows frames and headers (package wire) and no API's meaning.
//
// # Goroutines
//
// A [Client] has one goroutine that dials and writes, and one that reads while a connection is up. Its methods may be called from any
// goroutine. [Client.Close] waits for both.
//
// # Failure
//
// When a connection ends, every request in flight on it fails with an error that wraps [ErrDisconnected]: it may or may not have been
// carried out. Requests that were still queued wait for the next connection until their context ends. OnDown is called
// as soon as the end is noticed: a process that was killed closes its sockets at once, and this is how its death is suspected
// long before a timeout. One-way messages are dropped rather than waited for, when the queue is full or no connection is up: raft repeats itself.
//
// # Buffers
//
// A reply's byte fields (fetched records) are views into a pooled buffer, valid until its release function is called, exactly once.
package peer
