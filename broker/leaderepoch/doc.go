// Package leaderepoch is the history of leader epochs of one log: which epoch wrote which interval of offsets. It
// decides truncation; the high watermark never does (KIP-101, KIP-279).
//
// The history is a list of (epoch, start offset), epochs and start offsets both strictly rising. Entry i covers
// [start i, start i+1), the last one up to the end of the log. It is not the log and not a file: the owner of the log
// (package seglog) calls it under the lock of the log and writes [History.AppendCheckpoint] to leader-epoch-checkpoint
// by write, fsync, rename. The history may be written after the log itself, because batches carry their epochs and
// recovery assigns them again.
//
// # Invariants
//
//  1. Epochs are strictly rising and not negative.
//  2. Start offsets are strictly rising and not negative.
//  3. A question about an epoch that the history cannot answer gets "unknown", never a guess (KAFKA-6857).
package leaderepoch
