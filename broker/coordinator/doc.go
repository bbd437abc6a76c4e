// Package coordinator hosts the group shards of this broker: one for each partition of __consumer_offsets that it
// leads. It loads a shard from the partition's log, gives requests to its machine (package group), appends the
// machine's records and answers when they are committed, fires deadlines, and unloads when leadership goes.
// Transactions will be hosted the same way.
//
// It is not where groups are decided (package group), nor where leaders are known (package metadata): whoever wires the
// broker calls [Groups.Elected] and [Groups.Resigned] when the image changes, [Groups.TopicsChanged] when topics go, and
// [Groups.Fence] and [Groups.Unfence] when the broker loses the quorum and finds it again.
//
// # Life of a shard
//
//	absent ──Elected──▶ loading ──everything acknowledged is applied──▶ active ──Resigned──▶ absent
//	                      ▲                                                │
//	                      └── an append whose outcome is unknown; Fence ◀──┘
//
//	absent   NOT_COORDINATOR (16)
//	loading  COORDINATOR_LOAD_IN_PROGRESS (14)
//	active   the machine's answer
//
// A shard is loaded when it has applied every committed record and the high watermark has reached the end that the log
// had when this broker was elected: whatever an earlier leader acknowledged lies below that end. Until then nothing is
// answered, so a load never shows an older offset or "none" (reference: Kafka, which answers as soon as it has read).
// A read that meets damage leaves the shard loading, counted in [Facts], and is tried again after a pause.
//
// # Order of effects
//
//  1. The machine decides and hands out records and answers.
//  2. Answers that wait for nothing go out.
//  3. Records go to [Log.Append] in the order of decision, many decisions in one batch.
//  4. When the log says committed, the records are applied, in log order, and only then are their answers sent.
//
// A refused append (nothing was written, nothing will be) is told to the machine, which answers with the code. When it
// is unknown whether the batch is in the log, the shard forgets its state and loads again: the log alone decides.
// After a crash at any point, what was answered is in the log, and what is in the log is the state.
//
// # Concurrency
//
// Each shard has one owner at a time: an event is put into the shard's mailbox, and whoever finds the mailbox idle works
// it off (see mailbox.go). Nothing in the core starts a goroutine, sleeps or reads a clock but through [Options], so a
// simulation that calls it from one goroutine is deterministic. The loops that load and fire deadlines in a real
// broker are in run.go. Callbacks of callers run on the goroutine that works off the shard; they must not block.
package coordinator
