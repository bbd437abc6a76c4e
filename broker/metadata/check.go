package metadata

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// check holds the invariants of [Partition] for one change; before and change are nil for a new partition. P5 holds by
// construction.
func (e *edit) check(te *topicEdit, n int32, before, after *Partition, change *PartitionChange) {
	if reason := after.broken(); reason != "" {
		e.violated("%s-%d: %s: %+v", te.topic.Name, n, reason, *after)
	}
	if before == nil || change.Fields&SetLeader == 0 || after.Leader == kafka.NoNode {
		return
	}
	if before.InISR(after.Leader) || before.InELR(after.Leader) {
		return
	}
	if change.Fields&SetRecovery == 0 || after.Recovery != Recovering {
		e.violated("%s-%d: leader %d is neither in ISR %v nor in ELR %v, and this is no unclean election",
			te.topic.Name, n, after.Leader, before.ISR, before.ELR)
	}
}

// broken says which of the invariants P1 to P3 and P6 does not hold.
func (p *Partition) broken() string {
	switch {
	case len(p.Replicas) == 0 || doubled(p.Replicas):
		return "replicas are empty or name a broker twice"
	case doubled(p.ISR) || doubled(p.ELR) || doubled(p.LastKnownELR):
		return "a set names a broker twice"
	case !subset(p.ISR, p.Replicas) || !subset(p.ELR, p.Replicas) || !subset(p.LastKnownELR, p.Replicas):
		return "a set names a broker that holds no replica"
	case slices.ContainsFunc(p.ELR, p.InISR):
		return "ISR and ELR overlap"
	case p.Leader != kafka.NoNode && !p.InISR(p.Leader):
		return "the leader is not in the ISR"
	case doubled(p.Adding) || doubled(p.Removing) || !subset(p.Adding, p.Replicas) || !subset(p.Removing, p.Replicas):
		return "a move names a broker twice, or one that holds no replica"
	case slices.ContainsFunc(p.Adding, func(n kafka.NodeID) bool { return slices.Contains(p.Removing, n) }):
		return "a move both adds and removes a broker"
	case len(p.Adding) == len(p.Replicas) || len(p.Removing) == len(p.Replicas):
		return "a move goes from nothing or to nothing"
	}
	return ""
}

// Sets hold a handful of nodes: nested loops are the fastest way and allocate nothing.

func doubled(nodes []kafka.NodeID) bool {
	for i, n := range nodes {
		if slices.Contains(nodes[:i], n) {
			return true
		}
	}
	return false
}

func subset(a, b []kafka.NodeID) bool {
	for _, n := range a {
		if !slices.Contains(b, n) {
			return false
		}
	}
	return true
}
