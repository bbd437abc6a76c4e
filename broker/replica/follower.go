package replica

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/leaderepoch"
)

// FetchPosition is what a follower asks its leader for.
type FetchPosition struct {
	LeaderEpoch kafka.LeaderEpoch
	From        kafka.Offset      // its log end
	LastEpoch   kafka.LeaderEpoch // the latest of its history, NoLeaderEpoch when it has none
	LogStart    kafka.Offset
	Watermark   kafka.Offset
	Unsettled   bool // LogStart will soon be higher: ask again
}

// FetchPosition is where a follower goes on. ok is false when it follows nobody, and until a flush that it owes is done: the
// leader takes the position as what this replica counts for.
func (m *Machine) FetchPosition(h *leaderepoch.History) (p FetchPosition, ok bool) {
	if m.role != Follower || m.position() < m.end {
		return FetchPosition{}, false
	}
	p = FetchPosition{
		LeaderEpoch: m.leaderEpoch, From: m.end, LastEpoch: latestEpoch(h), LogStart: m.start, Watermark: m.hw,
	}
	if m.emptyFetch && !m.rules.KeepLastFetchedEpoch || !m.rules.EpochsDecideTruncation {
		p.LastEpoch = kafka.NoLeaderEpoch
	}
	return p, true
}

// latestEpoch is that of the last record, or a later one that wrote nothing: a leader that was deposed before its first
// append. The check of divergence then removes it from the history, before older epochs can come behind it.
func latestEpoch(h *leaderepoch.History) kafka.LeaderEpoch {
	e, _ := h.Latest()
	return e.Epoch
}

// Follows tells whether an answer that a follower got as of a leader epoch still concerns it.
func (m *Machine) Follows(e kafka.LeaderEpoch) bool {
	return m.role == Follower && (e == m.leaderEpoch || !m.rules.FenceLeaderEpoch)
}

// AcceptsEpoch tells whether a follower may append a batch of an epoch.
func (m *Machine) AcceptsEpoch(batch kafka.LeaderEpoch) bool {
	return batch <= m.leaderEpoch || !m.rules.RefuseNewerEpochs
}

// Replicated is what a follower took from its leader.
type Replicated struct {
	End             kafka.Offset // of its log, after the append
	LeaderStart     kafka.Offset // log start and watermark of the leader, NoOffset when it did not say
	LeaderWatermark kafka.Offset
	Empty           bool // there was nothing to append
}

// StepReplicated takes an answer without divergence, after its batches were appended.
func (m *Machine) StepReplicated(r Replicated) {
	m.end, m.emptyFetch = r.End, r.Empty
	m.askFlush()
	m.followWatermark(r.LeaderWatermark)
	if start := min(r.LeaderStart, m.hw); start > m.start {
		m.start, m.ready.AdvanceStart = start, start
	}
}

// followWatermark raises the watermark to the leader's, as far as this log goes. A leader's watermark may be behind
// ours just after its election: ours is right all the same, since what was committed stays committed.
func (m *Machine) followWatermark(leaders kafka.Offset) {
	hw := leaders
	if m.rules.FollowerWatermarkByLogEnd {
		hw = min(hw, m.end)
	}
	if hw == kafka.NoOffset || hw == m.hw || hw < m.hw && m.rules.WatermarkNeverBack {
		return
	}
	m.hw, m.ready.Watermark = max(hw, m.start), true
}

// Diverged is a leader's word on where its log and a follower's part: the largest epoch of its history not above the
// follower's last one, and where it ends there.
type Diverged struct {
	Asked           FetchPosition // what the follower had asked with
	Epoch           kafka.LeaderEpoch
	End             kafka.Offset
	LeaderWatermark kafka.Offset
}

// StepDiverged truncates. If the two histories have more than one epoch of difference the next fetch finds the next one
// (KIP-279); each round removes at least one record or one epoch, so it ends.
//
// An answer to another position than the present one is of no use, and acting on it would remove what the leader has
// counted since.
func (m *Machine) StepDiverged(d Diverged, h *leaderepoch.History) {
	if !m.rules.EpochsDecideTruncation || !m.Follows(d.Asked.LeaderEpoch) || d.Asked.From != m.end || d.Asked.LastEpoch != latestEpoch(h) {
		return
	}
	m.emptyFetch = false
	if !m.rules.TruncateBeforeWatermark {
		m.followWatermark(d.LeaderWatermark)
		if m.ready.Watermark {
			m.ready.EarlyWatermark = m.hw
		}
	}
	// What is above the leader's epoch here goes. If this log has nothing of that epoch, found is the one before it, and
	// the next fetch compares that.
	to := min(d.End, m.end)
	if _, end, ok := h.EndOffsetFor(d.Epoch, m.end); ok {
		to = min(to, end)
	}
	m.truncate(Truncation{To: max(to, m.start)})
}

// OutOfRange is a leader's answer to a follower whose log end is not in [LeaderStart, log end] of the leader.
type OutOfRange struct {
	Asked       FetchPosition
	LeaderStart kafka.Offset // NoOffset when it did not say
}

// StepOutOfRange starts the log over at the leader's log start, if it really has no offset to go on from: it ended
// before the leader begins, or it is empty and begins after the leader ends. Everything else is for the check of
// divergence to decide, and it tells false: try again later.
func (m *Machine) StepOutOfRange(o OutOfRange) bool {
	if !m.Follows(o.Asked.LeaderEpoch) || o.Asked.From != m.end {
		return true // an answer to another position
	}
	m.emptyFetch = false
	if o.LeaderStart == kafka.NoOffset || !m.rules.FollowerTruncatesFully {
		return false
	}
	if m.end >= o.LeaderStart && m.start != m.end {
		return false
	}
	m.truncate(Truncation{To: o.LeaderStart, Full: true})
	return true
}

// truncate cuts the log. The watermark must follow where the log now ends before it, which happens only after an
// unclean election: what was committed is lost.
func (m *Machine) truncate(t Truncation) {
	if !t.Full && t.To >= m.end {
		t.To = m.end // the history of epochs is cut all the same (KAFKA-10706)
	}
	hw := min(m.hw, t.To)
	if t.Full {
		m.start = t.To
		if m.rules.FullTruncationMovesWatermark {
			hw = t.To
		}
	}
	m.end = t.To
	if m.flushed = min(m.flushed, t.To); t.Full {
		m.flushed = t.To // nothing is there to be flushed
	}
	if hw != m.hw {
		m.hw, m.ready.Watermark = hw, true
	}
	m.ready.Truncate = &t
}

// Answer is one partition's part of a leader's answer to a fetch, without error and without divergence.
type Answer struct {
	Asked           kafka.LeaderEpoch // the epoch that the follower asked with
	Records         []byte            // batches, the last one perhaps cut; the receiver keeps none of it
	LeaderStart     kafka.Offset
	LeaderWatermark kafka.Offset
	Now             kafka.Elapsed
	Wall            kafka.Timestamp
}
