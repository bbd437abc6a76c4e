// Package metactl is what Kafka calls the controller: the decisions of the cluster, as a pure machine. The leader of the
// metadata quorum runs it; package quorum hosts it, package metadata is its state.
//
// Commands are Kafka's own controller messages, so a broker forwards a client's request unchanged. One is our own:
// [LogEndsRequest], by which brokers report the ends of leaderless replicas.
//
//	image, delta := c.Apply(index, records)   every committed entry, on every broker, live and in replay
//	c.BecomeLeader(now)                       when this broker leads and has applied every entry of earlier terms
//	records, reply := c.Decide(request, ...)  records are proposed as one entry; reply is sent when it is committed
//	records := c.Tick(now)                    a few times a second; propose
//	records := c.Suspect(node, epoch, now)    when the connection of a broker's process closed; propose
//	c.LoseLeadership()                        also when a proposal was dropped; the replies of all open ones are void
//
// The state is the committed image and, while leading, a speculative one: the committed image plus all that was proposed.
// Decisions are made on the speculative image, one after the other, without waiting for the log. It is right as long as
// what was proposed is committed in the order of proposing, and nothing else is: a host that sees a proposal dropped must
// end the leadership. A reply without records may rest on what is proposed and not yet committed; it must be held back
// until all that was proposed before it is committed, or a client could hear of what never came to be.
//
// Soft facts are kept beside the images: when a broker was last heard of, ends of logs, leaderships to move. They are
// lost with the leadership and grow again; no decision that needs one is made before it is there again.
//
// One goroutine calls everything. Nothing here blocks, reads a clock, or is random: time and randomness are arguments.
package metactl
