// Package replication is the fetch loop of a follower: one [Fetcher] per leader broker asks that broker, in one incremental
// fetch session, for all partitions that this broker follows there, and hands what comes to the replicas (package
// partition, through [Replica]).
//
// It decides nothing about a partition: where to go on, whether an answer still counts, where to truncate is the replica
// machine's business. It knows sessions, requests, errors and when to try again.
//
// # Synchronous core
//
//	Assign, Drop            from any goroutine: which partitions; they take effect at the next Next
//	Next -> request         at most one request is out
//	Handle <- answer        appends through the replicas; the answer's buffer is used directly and free when it returns
//
// Next and Handle are called by one goroutine in turn, with the time as an argument. run.go has the loop over a
// connection; a simulation calls the core itself.
//
// # Session
//
//	closed ──full fetch──▶ open (id, epoch 1, 2, …) ──error, or any trouble with the session──▶ closed
//
// In a session a request names only partitions whose position changed since they were last named, and those that the
// leader shall forget. A leader without room for a session answers id 0: then every fetch is full.
//
// # Throttle
//
// A replica that catches up under a throttle leaves the session while more was taken in than the rate allows, and comes
// back when that is paid for: see [Throttle].
//
// # Errors of a partition
//
// A partition in trouble leaves the session and comes back after a pause that doubles from MinBackoff to MaxBackoff,
// or at once when it is assigned anew. No error stops the others.
package replication
