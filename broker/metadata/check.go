package metadata

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// check holds the invariants P1 to P4 of [Partition] for one change; before and change are nil for a new partition. P5
// holds by construction.
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

// broken says which of the invariants P1 to P3 does not hold.
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
