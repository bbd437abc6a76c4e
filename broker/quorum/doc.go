// Package quorum runs one member of the metadata quorum: an etcd raft state machine on broker/raftlog, with the decisions of a
// [StateMachine] (broker/metactl, through [MetadataMachine]) as its entries. Partition data never goes through it.
//
// # Two halves
//
// [Node] is the synchronous core. It has no goroutine, reads no clock and no randomness: time comes in as an argument, jitter
// and sending are seams of [Options], callbacks are called from inside its methods. Its methods must not run beside each other, and a
// callback must not call back into the Node. Tick, Step, Submit and PeerDown only take in; [Node.Process] does the work of everything taken in since,
// in this order, which is what survives crashes:
//
//  1. send what does not depend on our disk (appends and heartbeats of a leader),
//  2. persist snapshot, entries, term and vote: one fsync for all of it,
//  3. send the rest (votes, acknowledgements),
//  4. apply what is committed, publish, answer the submits that waited for it,
//  5. compact by snapshot when the log since the last one is long enough.
//
// [Runner], in run.go, is the thin loop with inbox and timer around it. broker/sim drives Node directly.
//
// # Identity
//
// A member is a (node id, directory id) pair; [RaftID] derives the raft id from both. A directory that was wiped has another directory id,
// hence another raft id: the vote of the old one is not its to cast, and messages to the old one are dropped.
// A quorum begins once, by [Bootstrap]; an empty directory that nobody bootstrapped asks the leader to take it in ([Join]), for ever if need be, and
// never begins a quorum of its own. It joins as a learner, by a configuration change. When an older directory of the same node id was a
// voter, one joint configuration change swaps the two after the learner has caught up. No other learner is promoted by itself.
//
// # Elections
//
// PreVote and CheckQuorum. The timer of followers is ours, not raft's, so that its jitter comes from a seam and so that a
// closed connection to the leader ([Node.PeerDown]) starts a pre-vote within [Timing.SuspectMax]; a leader that is alive refuses it by its lease.
//
// # Leading
//
// A new leader decides nothing until its own first entry is committed and applied. Each decision is made against the speculative state;
// its reply is given when the entry it depends on is applied here: its own, or the last one proposed before it, so replies come in the order of
// the submits and nothing answered can be lost. Leadership lost: all that wait get [NotLeaderError].
package quorum
