package metadata

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// RecoveryState tells how the leader of a partition got there.
type RecoveryState int8

const (
	// Recovered is the normal state.
	Recovered RecoveryState = 0
	// Recovering is set by an unclean election, of a replica that may lack committed records, until the leader says by
	// AlterPartition that it has done with it. Only a change that sets it may name a leader outside ISR ∪ ELR.
	Recovering RecoveryState = 1
)

// Partition is the state of one partition. It is immutable, and so are its slices.
//
// Invariants, checked by [Image.Apply]:
//
//	P1  Replicas is not empty and names no broker twice.
//	P2  ISR and ELR are disjoint subsets of Replicas, as is LastKnownELR.
//	P3  Leader is in ISR, or NoNode.
//	P4  A leader that a change names is in ISR ∪ ELR of the state before, unless the change sets Recovering (KAFKA-19148).
//	P5  Epoch rises by one with every change; LeaderEpoch by one with every change that names a leader (or none).
//	P6  Adding and Removing are disjoint subsets of Replicas, and neither is all of it.
type Partition struct {
	Replicas []kafka.NodeID // the first is the preferred leader
	ISR      []kafka.NodeID // in-sync replicas, in the order of Replicas. Empty only when every member was lost
	// ELR is the eligible leader replicas (KIP-966): they left the ISR when fewer than min.insync.replicas remained, hold all
	// committed records, since the high watermark stands still meanwhile, and may lead.
	ELR []kafka.NodeID
	// LastKnownELR is the replicas that were in ISR or ELR until they came back from an unclean stop while there was no leader.
	// When ISR and ELR are empty, one of them is the most complete there is.
	LastKnownELR []kafka.NodeID
	// Adding and Removing are of a running move of replicas, empty when there is none. Replicas is meanwhile the target, in its
	// order, and after it those that go.
	Adding, Removing []kafka.NodeID
	Leader           kafka.NodeID // NoNode when there is none
	LeaderEpoch      kafka.LeaderEpoch
	Epoch            kafka.PartitionEpoch
	Recovery         RecoveryState
}

// Clone is a copy whose slices are shared; a caller that changes one replaces the slice.
func (p *Partition) Clone() *Partition { q := *p; return &q }

// HasReplica tells whether a broker holds, or shall hold, a replica.
func (p *Partition) HasReplica(n kafka.NodeID) bool { return slices.Contains(p.Replicas, n) }

// InISR tells whether a broker is in sync.
func (p *Partition) InISR(n kafka.NodeID) bool { return slices.Contains(p.ISR, n) }

// InELR tells whether a broker is an eligible leader replica outside the ISR.
func (p *Partition) InELR(n kafka.NodeID) bool { return slices.Contains(p.ELR, n) }

// Moving tells whether a move of replicas is under way.
func (p *Partition) Moving() bool { return len(p.Adding)+len(p.Removing) > 0 }

// Target is the replicas that there will be when a running move is over; else, all.
func (p *Partition) Target() []kafka.NodeID { return except(p.Replicas, p.Removing) }

// Original is the replicas to which a running move goes back when it is cancelled; else, all.
func (p *Partition) Original() []kafka.NodeID { return except(p.Replicas, p.Adding) }

// Factor is the replication factor: while a move runs, that of before. What min.insync.replicas can demand goes by it, since
// the replicas that are added are no help yet.
func (p *Partition) Factor() int { return len(p.Replicas) - len(p.Adding) }

func except(list, out []kafka.NodeID) []kafka.NodeID {
	if len(out) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(n kafka.NodeID) bool { return slices.Contains(out, n) })
}

// Equal compares everything.
func (p *Partition) Equal(q *Partition) bool {
	if p == nil || q == nil {
		return p == q
	}
	return p.Leader == q.Leader && p.LeaderEpoch == q.LeaderEpoch && p.Epoch == q.Epoch && p.Recovery == q.Recovery &&
		slices.Equal(p.Replicas, q.Replicas) && slices.Equal(p.ISR, q.ISR) && slices.Equal(p.ELR, q.ELR) &&
		slices.Equal(p.LastKnownELR, q.LastKnownELR) && slices.Equal(p.Adding, q.Adding) && slices.Equal(p.Removing, q.Removing)
}
