package replica

import "github.com/fairlead-io/fairlead/broker/kafka"

// pendingISR is the one ISR change in flight.
//
//	none ──propose──▶ in flight ──taken──▶ none; the answer's state is committed
//	                   │  ▲  │ └──refused for good──▶ none; the committed state stays
//	                   │  │  └──failed for a while──▶ in flight again at retryAt
//	                   └──the controller knows a newer state──▶ waits for the image, then none
//
// While it lasts, replicas that shall join count for the watermark and those that shall leave still count (rule 5).
type pendingISR struct {
	active  bool
	ticket  uint64
	isr     []Member
	retryAt kafka.Elapsed // no time while a request is out
}

// noRetry stands for: an answer is outstanding.
const noRetry = kafka.Elapsed(1<<63 - 1)

// StepTick looks at the clock: deadlines of waiting produces, followers that lag, an ISR change to repeat. The host
// leaves one round of ticks out after the whole process stood still, so that followers whose fetches wait in a socket
// are not thrown out.
func (m *Machine) StepTick(now kafka.Elapsed) {
	m.ready.Completed = m.waitCommit.popExpired(now, m.ready.Completed)
	m.ready.Completed = m.waitOwn.popExpired(now, m.ready.Completed)
	if m.role != Leader || m.failed {
		return
	}
	for i := range m.followers {
		f := &m.followers[i]
		if f.inISR && !m.pending.active && !m.inSync(f, now) {
			f.lagging = true
		}
	}
	m.advance(now) // a replica that was about to join may have fallen behind
}

// LookAt is when StepTick may have something to do if nothing else happens before; ok is false for never. The host ticks
// no machine earlier.
func (m *Machine) LookAt(now kafka.Elapsed) (at kafka.Elapsed, ok bool) {
	at = noRetry
	if !m.waitCommit.empty() {
		at = m.waitCommit.earliest
	}
	if !m.waitOwn.empty() {
		at = min(at, m.waitOwn.earliest)
	}
	if m.role != Leader || m.failed {
		return at, at != noRetry
	}
	if m.pending.active {
		at = min(at, m.pending.retryAt)
	}
	for i := range m.followers {
		f := &m.followers[i]
		if f.end == m.end {
			continue
		}
		// In the ISR it will have to leave then; outside, it holds the watermark back until then.
		if late := f.caughtUp.Add(m.limit.LagMax) + 1; f.inISR && !m.pending.active || !f.inISR && late > now {
			at = min(at, late)
		}
	}
	return at, at != noRetry
}

// proposeISR starts or repeats an ISR change when there is reason for one.
func (m *Machine) proposeISR(now kafka.Elapsed) {
	if m.role != Leader || m.failed {
		return
	}
	if p := &m.pending; p.active {
		if now >= p.retryAt {
			p.retryAt = noRetry
			m.sendAlter()
		}
		return
	}
	changed := m.recovering
	for i := range m.followers {
		f := &m.followers[i]
		f.shrinking, f.lagging = f.lagging, false
		f.expanding = !f.inISR && m.mayJoin(f, now)
		changed = changed || f.shrinking || f.expanding
	}
	if !changed {
		return
	}
	m.alters++
	m.pending = pendingISR{active: true, ticket: m.alters, retryAt: noRetry, isr: m.proposal()}
	m.sendAlter()
	m.advance(now) // a larger maximal ISR may now be enough for min.insync.replicas of what waits
}

// proposal is the committed ISR without those that leave and with those that join.
func (m *Machine) proposal() []Member {
	isr := make([]Member, 0, m.replicas)
	for _, id := range m.isr {
		if id == m.self {
			isr = append(isr, Member{id, m.selfEpoch})
		} else if f := m.follower(id); f != nil && !f.shrinking {
			isr = append(isr, Member{id, f.epoch})
		}
	}
	for i := range m.followers {
		if f := &m.followers[i]; f.expanding {
			isr = append(isr, Member{f.id, f.epoch})
		}
	}
	return isr
}

func (m *Machine) sendAlter() {
	m.ready.Alter = &Alter{
		Ticket: m.pending.ticket, LeaderEpoch: m.leaderEpoch, PartitionEpoch: m.partitionEpoch, ISR: m.pending.isr,
	}
}

// Altered is the controller's answer to an ISR change. The state is valid with None.
type Altered struct {
	Ticket         uint64
	Code           kafka.ErrorCode
	Leader         kafka.NodeID
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch kafka.PartitionEpoch
	ISR            []kafka.NodeID
	Recovering     bool
	Now            kafka.Elapsed
}

// StepAltered takes the answer, or a transport failure as REQUEST_TIMED_OUT: then the change may have been made.
func (m *Machine) StepAltered(a Altered) {
	p := &m.pending
	if m.role != Leader || !p.active || p.ticket != a.Ticket {
		return // superseded by an image
	}
	switch a.Code {
	case kafka.None:
		switch {
		case a.LeaderEpoch != m.leaderEpoch || a.PartitionEpoch < m.partitionEpoch:
			// About another leadership: the image will say.
			p.retryAt = a.Now.Add(m.limit.AlterRetry)
		default:
			m.recovering = a.Recovering
			m.commitISR(a.ISR, a.PartitionEpoch)
		}
	case kafka.IneligibleReplica, kafka.OperationNotAttempted:
		// The controller's state is the one the request named, and it has not been changed.
		m.commitISR(m.isr, m.partitionEpoch)
		m.nextAlter = a.Now.Add(m.limit.AlterRetry)
	default:
		// Either the controller was not reached, or it knows a newer state and the image is on its way: with the latter
		// the change in flight may be part of that state. Keep counting both sets, and ask again.
		p.retryAt = a.Now.Add(m.limit.AlterRetry)
	}
	m.advance(a.Now)
}

// inSync tells whether a follower has reached the log end within the last replica.lag.time.max.ms.
func (m *Machine) inSync(f *follower, now kafka.Elapsed) bool {
	return f.end == m.end || now.Sub(f.caughtUp) <= m.limit.LagMax
}

// eligible tells whether a follower may be in an ISR: its broker is alive, is not stopping, and fetched in the life
// that the image knows, so that a replaced disk cannot pass for what it was (KIP-903).
func (m *Machine) eligible(f *follower) bool {
	if !m.rules.FenceBrokerEpoch {
		return true
	}
	return f.broker.Eligible && (f.epoch == kafka.NoBrokerEpoch || f.epoch == f.broker.Epoch)
}

// mayJoin tells whether a follower has all that is committed, is still fetching, and is eligible.
func (m *Machine) mayJoin(f *follower, now kafka.Elapsed) bool {
	if f.end < m.hw || f.end == kafka.NoOffset || now < m.nextAlter {
		return false
	}
	if m.rules.JoinAtEpochStart && f.end < m.epochStart {
		return false
	}
	return now.Sub(f.lastFetch) <= m.limit.LagMax && m.eligible(f)
}

// maximalSize is the size of the committed ISR with every replica that is about to join.
func (m *Machine) maximalSize() int {
	n := len(m.isr)
	for i := range m.followers {
		if m.followers[i].expanding {
			n++
		}
	}
	return n
}
