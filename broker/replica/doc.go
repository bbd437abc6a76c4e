// Package replica is the replication of one partition on one broker as a pure state machine: its role, the leader
// epoch, the in-sync replicas (ISR) and their pending change, the high watermark, what followers have fetched, and the
// produces that wait.
//
// It holds no batch and no file: the host (package partition) owns the log and tells the machine what is in it. It
// starts nothing and reads no clock: time comes in with each event. One goroutine at a time, under the host's mutex.
//
// # Step and ready
//
//	host: m.Step…(event)  ->  r := m.Ready()  ->  carry out r, in this order  ->  next event
//
//	1  r.Truncate       cut the log, before anything else may look at it
//	2  r.AdvanceStart   the log start moves; never above the high watermark
//	3  r.StartEpoch     note (leader epoch, log end) in the history of epochs, before the first append of the epoch
//	4  r.Flush          fsync the log up to its end, now or as one of many, and then StepFlushed
//	5  r.Watermark      publish the high watermark
//	6  r.Alter          ask the controller for an ISR change, then StepAltered with the answer
//	7  r.Completed      answer waiting produces
//
// An append is not an effect: the host asks Admit, appends, and reports StepAppended, all under one lock. A ticket is
// the host's name for a waiting produce; the machine never looks into it.
//
// # Roles
//
//	         Assign: another leads             Assign: I lead, new leader epoch
//	None ───────────────────────▶ Follower ◀───────────────────────▶ Leader
//	  ▲                              │                                  │
//	  └───────────── Assign: nobody leads, or no replica here ◀─────────┘
//
// A leader that meets a new leader epoch of its own starts over: it knows nothing of its followers but that the ISR was
// in sync a moment ago.
//
// # Offsets
//
//	log start ≤ high watermark ≤ log end          [log start, high watermark) is committed
//	position = min(log end, flushed + flush.messages - 1): what this replica counts for. Without flush.messages it is
//	the log end.
//
// # Rules
//
// Each rule that replication.md and docs/invariants.md name and that lives here has a switch in [Rules], on by
// default. Nothing but a simulation that wants to see its checkers fail ever turns one off.
package replica
