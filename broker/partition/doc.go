// Package partition hosts the replicas of one broker: for each, the replication machine (package replica) and the log
// (package seglog) behind one mutex, and a [Manager] that owns the log directory and all of them.
//
// It is not the fetch loop of a follower (package replication), not an API (package handler) and it decides nothing
// about the cluster: it follows the image (package metadata) and asks for ISR changes through [Options.Alter].
//
// # Who calls what
//
// Handlers, coordinators and the fetchers call methods of [Partition] from any goroutine. The broker's main loop calls
// [Manager.Apply] with each image, in order. The loops of run.go call Tick, Flush, Checkpoint, Retain and Compact; a
// simulation calls the same methods itself. No method starts a goroutine or reads a clock: time comes in as an
// argument. There is no goroutine and no timer per partition. [Manager.Tick] looks only at partitions that have
// something to wait for: a produce with a deadline, a follower that lags, an ISR change in flight, a flush that is due.
//
// # Order of effects in one partition
//
//  1. the log is truncated; 2. batches are appended; 3. a flush is asked for as far as flush.messages demands;
//  4. the high watermark moves; 5. watchers are notified; 6. the ISR change is queued; 7. waiting produces complete.
//
// Steps 1 to 5 happen under the partition's mutex, 6 and 7 after it was released. The flush waits for the disk without the mutex, a
// leader's in [Manager.Flush], which takes all that was appended meanwhile with the next fsync, a follower's in TakeAnswer, since
// its next fetch tells the leader; its end is an event of its own, with steps 4 to 7. A callback given to Produce or
// DeleteRecords is called exactly once, possibly before the call returns, with no lock of this package held.
// Answers to the produces of one partition that got into the log come in the order in which they completed, one at a
// time. [Watcher.PartitionReady] is called with the mutex held: it may take locks of its own, never call back.
//
// # What survives a crash
//
// Nothing is acknowledged before it is in the log of every in-sync replica (acks=all) and flushed where flush.messages
// says so. The log start of DeleteRecords is durable before the answer, here and on the followers that are waited for.
// The high watermark is written every five seconds and may be old after a crash: leader epochs decide truncation, so
// an old watermark costs nothing but a round of fetches.
//
// # Failing
//
// A full disk, or no file handle left: appends answer KAFKA_STORAGE_ERROR (56), reads go on, and writing is tried again
// when space is back. A log whose files are gone or cannot be read fails alone: see [Manager.FailedLogs]. Any other error of
// a write or an fsync takes the directory offline for good: see [Manager.Failure]; the process is expected to end.
package partition
