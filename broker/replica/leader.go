package replica

import "github.com/fairlead-io/fairlead/broker/kafka"

// Admit tells whether a leader may append a produce with such acks now: None, NOT_LEADER_OR_FOLLOWER or
// NOT_ENOUGH_REPLICAS.
func (m *Machine) Admit(acksAll bool) kafka.ErrorCode {
	switch {
	case m.role != Leader:
		return kafka.NotLeaderOrFollower
	case acksAll && m.rules.MinISRGatesProduce && len(m.isr) < m.minISR():
		return kafka.NotEnoughReplicas
	}
	return kafka.None
}

// CheckEpoch compares the leader epoch that a reader or writer believes in with this replica's.
func (m *Machine) CheckEpoch(e kafka.LeaderEpoch) kafka.ErrorCode {
	switch {
	case e == kafka.NoLeaderEpoch || !m.rules.FenceLeaderEpoch || e == m.leaderEpoch:
		return kafka.None
	case e < m.leaderEpoch:
		return kafka.FencedLeaderEpoch
	default:
		return kafka.UnknownLeaderEpoch
	}
}

// StepAppended tells that the log, of a leader, now ends at end.
func (m *Machine) StepAppended(end kafka.Offset, now kafka.Elapsed) {
	m.end = end
	m.askFlush()
	m.advance(now)
}

// StepFlushed tells that all below end is on the disk. What was appended since the flush began may need another.
func (m *Machine) StepFlushed(end kafka.Offset, now kafka.Elapsed) {
	m.flushed = max(m.flushed, min(end, m.end))
	m.askFlush()
	m.advance(now)
	m.completeOwn()
}

func (m *Machine) askFlush() {
	if n := m.limit.FlushMessages; n > 0 && int64(m.end-m.flushed) >= n {
		m.ready.Flush = true
	}
}

// Wait adds a produce that waits until all below next is committed (acks=all) or counted by this leader alone. It may
// complete at once.
func (m *Machine) Wait(ticket uint64, next kafka.Offset, acksAll bool, deadline kafka.Elapsed) {
	w := wait{next: next, deadline: deadline, ticket: ticket}
	if acksAll {
		m.waitCommit.push(w)
		m.completeCommitted()
		return
	}
	m.waitOwn.push(w)
	m.completeOwn()
}

// StepFailed tells that the log is out of service for good: nothing waits for it any more, nothing becomes committed by this
// replica, and it judges no follower, since it answers none. That the partition needs another leader is for the host to say.
func (m *Machine) StepFailed() {
	m.failed, m.pending = true, pendingISR{}
	m.ready.Completed = m.waitCommit.popAll(kafka.KafkaStorageError, m.ready.Completed)
	m.ready.Completed = m.waitOwn.popAll(kafka.KafkaStorageError, m.ready.Completed)
}

// Fetched is a fetch of a follower: it holds [Start, End) of the log.
type Fetched struct {
	Replica    kafka.NodeID
	Epoch      kafka.BrokerEpoch // NoBrokerEpoch when it did not say
	Start, End kafka.Offset
	Now        kafka.Elapsed
}

// StepFetched takes a fetch whose offset is in range and whose history agrees with the leader's. A replica that the
// partition does not have is refused, and a broker in an earlier life than the image knows.
func (m *Machine) StepFetched(f Fetched) kafka.ErrorCode {
	if m.role != Leader {
		return kafka.NotLeaderOrFollower
	}
	r := m.follower(f.Replica)
	if r == nil {
		return kafka.UnknownLeaderEpoch // the follower may know of an assignment that this leader does not know yet
	}
	if m.rules.FenceBrokerEpoch && f.Epoch != kafka.NoBrokerEpoch && f.Epoch < r.broker.Epoch {
		return kafka.NotLeaderOrFollower
	}
	switch {
	case f.End >= m.end:
		r.caughtUp = max(r.caughtUp, f.Now)
	case r.leaderEnd != kafka.NoOffset && f.End >= r.leaderEnd:
		r.caughtUp = max(r.caughtUp, r.lastFetch)
	}
	moved := r.end != f.End
	r.start, r.end, r.epoch = f.Start, f.End, f.Epoch
	r.lastFetch, r.leaderEnd = f.Now, m.end
	if moved {
		m.advance(f.Now)
	}
	return kafka.None
}

// advance moves the watermark of a leader as far as rule 3 lets it, and completes what waited.
func (m *Machine) advance(now kafka.Elapsed) {
	if m.role != Leader || m.failed {
		return
	}
	if m.rules.MinISRGatesWatermark && len(m.isr) < m.minISR() {
		return
	}
	hw := m.position()
	for i := range m.followers {
		if f := &m.followers[i]; f.end < hw && m.holdsWatermark(f, now) {
			hw = f.end
		}
	}
	if hw > m.hw {
		m.hw = hw
		m.ready.Watermark = true
		m.completeCommitted()
	}
}

// holdsWatermark tells whether the watermark waits for a follower.
func (m *Machine) holdsWatermark(f *follower, now kafka.Elapsed) bool {
	if m.rules.MaximalISR {
		if f.inISR || f.expanding {
			return true
		}
	} else if f.inISR && !f.shrinking {
		return true
	}
	return m.rules.JoiningHoldsWatermark && m.inSync(f, now) && m.eligible(f)
}

// completeCommitted answers acks=all waits below the watermark.
func (m *Machine) completeCommitted() {
	code := kafka.None
	if m.maximalSize() < m.minISR() {
		code = kafka.NotEnoughReplicasAfterAppend
	}
	m.ready.Completed = m.waitCommit.popReached(m.hw, code, m.ready.Completed)
}

func (m *Machine) completeOwn() {
	m.ready.Completed = m.waitOwn.popReached(m.position(), kafka.None, m.ready.Completed)
}

// LowWatermark is the smallest log start of this leader and of every replica that the image does not call dead: what
// DeleteRecords waits for.
func (m *Machine) LowWatermark() kafka.Offset {
	low := m.start
	for i := range m.followers {
		if f := &m.followers[i]; f.broker.Alive {
			low = min(low, f.start)
		}
	}
	return low
}

// StepStart tells that a leader's log now starts at start, by DeleteRecords or retention.
func (m *Machine) StepStart(start kafka.Offset) {
	m.start = max(m.start, start)
	if m.hw < m.start { // only with records that were never committed, of a log whose watermark was lost
		m.hw, m.ready.Watermark = m.start, true
	}
}
