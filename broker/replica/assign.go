package replica

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Assignment is the partition's state in an image.
type Assignment struct {
	Leader         kafka.NodeID
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch kafka.PartitionEpoch
	Replicas, ISR  []kafka.NodeID
	Recovering     bool // the leader was elected uncleanly (KIP-966)
	// Brokers says what the image says of a broker.
	Brokers func(kafka.NodeID) BrokerFacts
	Now     kafka.Elapsed
}

// StepAssign takes the partition's state from the image. Images come in order, but an answer to AlterPartition may have
// come before the image that holds the same change: what is older than what is known is ignored.
func (m *Machine) StepAssign(a Assignment) {
	if a.PartitionEpoch < m.partitionEpoch || a.LeaderEpoch < m.leaderEpoch {
		return
	}
	before, newEpoch := m.role, a.LeaderEpoch > m.leaderEpoch
	m.leader, m.leaderEpoch, m.replicas = a.Leader, a.LeaderEpoch, len(a.Replicas)
	switch {
	case !slices.Contains(a.Replicas, m.self) || a.Leader == kafka.NoNode:
		m.role = None
	case a.Leader == m.self:
		m.role = Leader
	default:
		m.role = Follower
	}
	m.askFlush()
	if m.role != Leader {
		m.partitionEpoch = a.PartitionEpoch
		m.stepDown(before, newEpoch)
		return
	}
	if before != Leader || newEpoch {
		m.stepDown(before, newEpoch)
		m.epochStart = m.end
		m.ready.StartEpoch = true
	}
	m.recovering = a.Recovering
	m.selfEpoch = a.Brokers(m.self).Epoch
	m.setFollowers(a, before != Leader || newEpoch)
	if a.PartitionEpoch > m.partitionEpoch || newEpoch {
		// This state is after any answer that may still come for the change in flight.
		m.commitISR(a.ISR, a.PartitionEpoch)
	}
	m.advance(a.Now)
	m.completeOwn()
}

// stepDown ends what belonged to the former role. Produces go on waiting at a leader that is elected again: their records
// stay in its log, and are committed when the new epoch's watermark passes them.
func (m *Machine) stepDown(before Role, newEpoch bool) {
	if before == Leader && m.role != Leader {
		m.ready.Completed = m.waitCommit.popAll(kafka.NotLeaderOrFollower, m.ready.Completed)
		m.ready.Completed = m.waitOwn.popAll(kafka.NotLeaderOrFollower, m.ready.Completed)
	}
	m.epochStart, m.followers, m.isr, m.recovering = kafka.NoOffset, nil, nil, false
	m.pending = pendingISR{}
	m.emptyFetch = m.emptyFetch && !m.rules.KeepLastFetchedEpoch
	if m.role == Follower && newEpoch && !m.rules.EpochsDecideTruncation {
		m.truncate(Truncation{To: m.hw})
	}
}

// setFollowers takes over the set of replicas. What is known of those that stay is kept unless the epoch is new.
func (m *Machine) setFollowers(a Assignment, anew bool) {
	next := make([]follower, 0, len(a.Replicas)-1)
	for _, id := range a.Replicas {
		if id == m.self {
			continue
		}
		f := follower{
			id: id, start: kafka.NoOffset, end: kafka.NoOffset, leaderEnd: kafka.NoOffset,
			epoch: kafka.NoBrokerEpoch, lastFetch: never, caughtUp: never,
		}
		if old := m.follower(id); old != nil && !anew {
			f = *old
		} else if anew && slices.Contains(a.ISR, id) {
			f.caughtUp = a.Now // it was in sync a moment ago; it has the usual time to show it
		}
		f.broker = a.Brokers(id)
		next = append(next, f)
	}
	slices.SortFunc(next, func(x, y follower) int { return cmp.Compare(x.id, y.id) })
	m.followers = next
}

// commitISR takes a committed ISR; a change in flight is over, whatever its answer will be. Who is out of it must fetch again
// before it comes back: that it was in sync a moment ago says nothing, if its log failed since.
func (m *Machine) commitISR(isr []kafka.NodeID, epoch kafka.PartitionEpoch) {
	m.isr, m.partitionEpoch, m.pending = slices.Clone(isr), epoch, pendingISR{}
	for i := range m.followers {
		f := &m.followers[i]
		was := f.inISR
		if f.inISR = slices.Contains(isr, f.id); was && !f.inISR {
			f.end, f.leaderEnd, f.lastFetch, f.caughtUp = kafka.NoOffset, kafka.NoOffset, never, never
		}
		f.expanding, f.shrinking, f.lagging = false, false, false
	}
}

// StepBroker takes what the image says of another broker, after it changed.
func (m *Machine) StepBroker(id kafka.NodeID, facts BrokerFacts, now kafka.Elapsed) {
	if id == m.self {
		m.selfEpoch = facts.Epoch
		return
	}
	if f := m.follower(id); f != nil {
		f.broker = facts
		m.advance(now)
	}
}

// follower finds a replica's entry, nil when it is none. A partition has few replicas.
func (m *Machine) follower(id kafka.NodeID) *follower {
	for i := range m.followers {
		if m.followers[i].id == id {
			return &m.followers[i]
		}
	}
	return nil
}
