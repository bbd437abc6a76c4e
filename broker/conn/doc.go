// Package conn is the broker's network edge: it accepts connections, reads requests within bounds, hands them to one
// [Handler] and writes replies in order. It knows frames and headers (package wire), no API's meaning (package handler).
//
// # Goroutines
//
// Each connection has two. The reader reads one request after another and calls Handler.Handle, in order, one at a
// time; Handle must not block for long: what takes time is a pending reply. The writer writes replies strictly in the order of the
// requests, whatever the order of completion, so that a client may have several produces in flight. One more per listener accepts, one per server
// looks for idle connections. [Server.Shutdown] waits for all of them.
//
//	socket ─> reader ─> Handle ──> queue of replies (at most MaxQueuedReplies) ──> writer ─> socket
//	                      │                  ^
//	                      └─ pending ────────┘ Complete, from any goroutine
//
// # Replies
//
// A reply is complete at once ([Answer], [AnswerChunks], [None], [Close]) or later ([Pending] and then exactly one of
// Complete, CompleteNone, CompleteClose). Its chunks are bytes and ranges of files, written by writev and sendfile with an
// explicit offset; over a connection that is not plain TCP, file ranges are copied through a pooled buffer.
//
// # Who owns a buffer
//
//   - A request's Body is a view into a pooled slab. It is valid until Handle returns; whoever needs it longer calls
//     Retain before that, and Release exactly once later, from any goroutine. A use after the last Release reads
//     someone else's bytes: tests poison released slabs ([Config.PoisonReleased]) so that this shows.
//   - A reply's bytes belong to the connection from Answer or Complete on, until their chunk's Owner is released:
//     exactly once per chunk, when written or when the connection ends, whichever comes first.
//
// # Bounds
//
// Frame size, connections (all, per address), replies queued per connection, and the bytes of request slabs that are
// in use over all client listeners: a reader waits before it takes a slab beyond that. Internal listeners are outside
// the last bound: a produce with acks=all holds its slab until followers have fetched, so a follower's fetch that
// waited for a slab would be a deadlock.
//
// # What ends a connection
//
// A frame beyond the limit, a [wire.Rejection] (unknown key or version, malformed header), a reply that says close, a
// read or write error, idleness, a request that stops arriving, Shutdown. Everything read before is still answered, except after a write error.
package conn
