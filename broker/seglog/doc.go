// Package seglog is one partition's log on one disk: segments, their indexes, recovery, append, read, truncation,
// retention and compaction; and the data directory that holds many of them.
//
// It is not replication: it knows no leader, watermark or in-sync set, and takes the bounds that follow from those as
// arguments. It starts no goroutine, reads no clock and draws no random number: time comes in as an argument.
//
// # Who calls what
//
// The caller serialises everything that changes a Log (Append, TruncateTo, TruncateFullyTo, AdvanceStart, AssignEpoch,
// Flush, Retain, Compact, Close) with the lock of its partition. A compaction takes long, so it is also there in parts:
// StartCompaction, then Clean without the lock and Commit with it in turns, then Compaction.Close; see compact.go. A pass
// ends before its log is closed. Nothing below the bound of a pass (the last stable offset) may be truncated later, as
// nothing below the high watermark ever is. A flush is there in parts likewise: see PendingFlush. Reads (Read,
// OffsetForTimestamp, MaxTimestamp, AbortedTransactions, StartOffset, EndOffset, Size, ...) may run beside them and beside
// each other.
// Epochs and Producers are views of state that changes with Append: use them under the partition's lock.
//
// # Files of a partition
//
// Kafka's, byte for byte (its tools read ours): N.log, N.index, N.timeindex, N.txnindex for the segment whose first
// offset is N (20 digits), N.snapshot (producers, from offset N on), leader-epoch-checkpoint, partition.metadata. And
// one of ours, which Kafka ignores: fairlead.journal, see journal.go. It holds
//
//   - seals: what a segment and its indexes were when they had been fsynced: sizes, checksums, next offset, largest
//     timestamp. A seal is why a clean start scans nothing, and why an index that is missing, emptied, cut, random or
//     of another partition is noticed at its first use and made anew. Without a seal nothing is believed: the segment's
//     batches are read once.
//   - the log start offset, durable when AdvanceStart returns.
//   - cuts: a seal beyond a truncation is void.
//
// # Order of effects, and what survives a crash
//
// Append is one write at the end of the active segment; its bytes are durable after Flush, which moves the recovery
// point. After a crash each batch's CRC is checked from the recovery point on, and in the last megabyte before it
// (recheckBytes); at the first that is not whole the log ends: what follows is cut off. Between segments that no seal
// vouches for, a gap in the offsets ends the log too. Recovery may crash and run again: it deletes from the end towards
// the cut.
//
// Damage further back, or that came after the start, is in nobody's way until it is read. Read gives the bytes as they
// are: consumers check the CRC themselves. Followers refuse the batch (package partition), compaction leaves its segment
// as it is, coordinators stop loading with an error: nothing writes it again under a new checksum.
//
// Derived files (indexes, snapshots, leader epochs) never keep a log from opening: they are made anew from the batches.
//
// # Errors
//
// A full disk or too few file handles refuse the operation, the log stays as it was and the next attempt may succeed
// (vfs.IsFull, vfs.IsHandleLimit). Files that are missing, closed to the process or unreadable (vfs.IsConfined) are a
// FailedError: every later change of that log is refused. An error of fsync, or of a write for any other reason, is an
// OfflineError: it is never tried again, every later change of the log is refused, and with Options.Directory set, of every
// log of that directory. Damage found in stored batches is a CorruptError with file and position; it ends the changes of that log
// alone.
//
// After a failed fsync Linux may show bytes that the disk does not have, also to the next process, whose own fsyncs then pass without
// writing them. So after an unclean stop what nothing proves to be durable is written again before it counts: see again.go.
package seglog
