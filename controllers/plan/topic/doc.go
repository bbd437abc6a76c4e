// Package topic plans what the operator does for one Topic: [Compute] is given everything that was seen, in a [Snapshot], and gives the
// actions to take now, the status to report, and when to look again. It asks nobody, waits for nothing and remembers nothing.
//
// What a Topic asks for is compared with what the cluster has:
//
//	no topic of that name          it is created. Had it been there before (status.topicID), it was deleted by other means: it is created
//	                               again, empty, and an event says so
//	a topic of that name           it is adopted: the condition Adopted says so, and it is brought in line like any other
//	fewer partitions               partitions are added
//	other settings                 they are set. What the topic has by this Topic (status.settings) and the spec no longer names is taken
//	                               back. All else is left alone: what an adopted topic had, its retention above all, and throttles
//	                               that tools for reassignment set while they work
//	another replication factor     replicas are added to, or taken from, some partitions at a time; records are copied first
//	an impossible difference       nothing is changed, and Ready stays False until the spec or the cluster is another
//
// All or none: while any part of a spec is impossible, or refused by the brokers, no part of it is applied, neither are by-hand changes
// taken back. Where a plan has more than one change, the caller has the brokers judge all before it makes the first
// ([Plan.Changes]). A change of the replication factor begins when everything else is as the spec says.
//
// Of two Topics for one topic the older is followed; the other is told so and changes nothing, not even when it is deleted.
//
// Deletion. Only deletionPolicy Delete puts the finalizer on, and not before there can be a topic. It is taken off when a broker said that the topic is gone, and without
// asking any broker when the Cluster is missing or is being deleted itself: what is left of the topic goes, or stays, with the
// cluster's volumes. A cluster that is there and does not answer keeps it on: the topic would outlive the wish to delete it. So does one
// that does not allow deletion (delete.topic.enable=false) until it does, or until deletionPolicy is Retain.
//
// Rules that hold for every plan:
//
//   - Not known is never taken as absent: a plan without an answer of the cluster changes nothing in it.
//   - Steady failure is quiet: the same plan gives the same status, and asks to be made again after [Retry] at the earliest.
//   - Two plans of one snapshot are equal, and what a converged topic gives is no action and the status that it has.
package topic
