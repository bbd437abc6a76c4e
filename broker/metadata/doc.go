// Package metadata is what every broker knows of the cluster: an immutable [Image], and the [Record]s whose fold it is.
//
// The records live in the Raft log of the metadata quorum, one list of records to a log entry; they are the only way an
// image changes. [Image.Apply] gives a new image and a [Delta] and leaves the old one as it was, so an image may be read by
// any number of goroutines without a lock, for as long as they like. The two images share all that did not change: one
// changed partition among 100,000 costs microseconds. [Image.Records] is the snapshot: the records that make the same
// image out of an empty one.
//
// The package decides nothing: package metactl does. It only refuses what can never be right, by a panic, since a record
// that breaks an invariant is a bug of the one who wrote it: see [Image.Apply].
//
// Apply is called by the one goroutine that owns the log; a panic there must not reach the log, which is why the
// controller applies what it proposes to its own speculative image before it proposes it.
package metadata
