// Package group is the state machine of classic consumer groups and their committed offsets, for one shard: one
// partition of __consumer_offsets. It decides; it does not store, wait, read a clock or talk to anybody.
//
// It is not the assignor (the group's leader is a client that computes the assignment), not the place where groups are
// found (package coordinator), and not KIP-848 groups.
//
// # Who calls it
//
// One owner (a coordinator shard), from one goroutine at a time:
//
//	Handle(now, ticket, request)   a request; it may be answered now, later, or when its records are committed
//	Tick(now)                      deadlines that have passed: sessions, rebalances
//	Expire, DropOffsets            retention, and topics that were deleted
//	Ready()                        what to do: send the answers, append the records, in this order
//	Committed(id) / Failed(id)     how an append ended; appends are reported in the order in which they were handed out
//	Apply(record)                  replay, before Activate
//	Activate(now)                  the log is applied: sessions start, requests may come
//
// # What is durable
//
// A group's last metadata record (generation, protocol, leader, members, assignments) and its committed offsets, in
// Kafka's own record schemas. They change in [Machine.Apply] and nowhere else: live, Committed applies exactly the
// bytes that were appended. So replaying the log gives the same state, and [Machine.Dump] prints it to compare.
//
// Everything else is soft: who has joined the running rebalance, who has synced, deadlines, member ids handed out.
// It dies with the shard's owner, as in Kafka: members then find the new coordinator and join again.
//
// # The group
//
//	          first member                 all joined, or time is up
//	Empty ─────────────────▶ Preparing ─────────────────────────────▶ Completing
//	  ▲                       ▲  │ ▲                                      │   │
//	  │ nobody joined         │  │ └── join, leave, expiry, leader fails ─┘   │ leader's assignment
//	  └───────────────────────┼──┘                                            │ is committed
//	                          └──────── join, leave, expiry ─────── Stable ◀──┘
//
// Dead is a group whose deletion is being committed: its requests are answered 15 until the outcome is known.
//
// Invariants, checked after every step of the random schedules in the tests:
//
//	G1  a generation of a live group has one leader, and it is a member.
//	G2  a member has at most one join and one sync waiting; nobody waits to join outside Preparing, nor to sync outside
//	    Completing. (A static member that replaced another in Stable waits for its record, not for the group.)
//	G3  a group in Preparing or Completing has a deadline: no rebalance is stuck. Every member has a deadline.
//	G4  whenever a member or a member id goes, completion of the join is evaluated again.
//	G5  a ticket is answered at most once.
//	G6  an answer that promises something (offsets committed, assignment, deletion) goes out after its records are applied.
//	G7  OffsetFetch shows applied offsets only.
//
// # Where it is stricter than Kafka
//
// A commit that waits for the log when its group is deleted is deleted with it (its tombstone is written too). An
// offset of a topic that was deleted and created again is not shown (the record carries the topic id).
package group
