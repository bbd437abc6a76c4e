// Package producerstate is what one partition knows of its idempotent and transactional producers: sequences, epochs,
// open transactions and the last stable offset. It is a fold over the batches of the log: a leader asks [State.Check]
// before it appends, and everybody (leader, follower, recovery) calls [State.Update] for each batch that is in the log.
//
// It is not the transaction coordinator and does not verify that a transaction was begun there. It reads no clock and
// no file; the owner of the log (package seglog) guards it with the lock of the log and stores its snapshots.
//
// # Rules
//
//   - A producer that is not known may start at any sequence (its state may have expired, or its records been deleted).
//   - A known one must go on where its last batch ended; after 2^31-1 comes 0. A higher epoch starts at 0. A lower epoch
//     is fenced.
//   - A batch with the epoch and the sequences of any of the last [RememberedBatches] is a duplicate: it gets its first
//     answer again.
//   - Records of coordinators have no sequences; only their epochs are checked. Records that come by replication were
//     checked by the leader.
//   - A transaction is open from its first record in this partition to its marker. It is undecided up to the marker, and
//     unstable until the marker is below the high watermark.
//   - A producer without an open transaction is forgotten when nothing was appended for the retention time. What counts
//     is the time of the append, never the records' timestamps: producers of old data are not forgotten early.
//   - At most [Options.MaxProducers] are known. Above that, the one that has been silent for the longest and has no
//     open transaction is forgotten, in the same order on every replica that has the same log.
//
// # Crash
//
// State is in memory. Recovery loads the newest snapshot not beyond the log's end and calls Update for the batches from
// there on. The snapshot is Kafka's, with the rest of what we know after it: see [State.AppendSnapshot].
package producerstate
