package membership

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// refusals end the attempt to register: no retry changes them. A duplicate is waited for, since the other process may be our
// own predecessor whose death nobody noticed yet.
var refusals = []struct {
	code   kafka.ErrorCode
	reason string
}{
	{kafka.InconsistentClusterID, "the data directory is of another cluster"},
	{kafka.UnsupportedVersion, "the cluster uses features that this version does not have"},
	{kafka.InvalidRegistration, "the registration is not valid"},
	{kafka.InvalidRequest, "the registration is not valid"},
	{kafka.ClusterAuthorizationFailed, "not allowed to register"},
}

// registered takes the answer to a registration.
func (m *Machine) registered(e Registered) {
	if !m.mine(e.Ticket) || m.phase != PhaseRegistering {
		return
	}
	if e.Err == nil && e.Code == kafka.None {
		m.enter(e.Epoch, m.sentAt)
		return
	}
	for _, r := range refusals {
		if e.Err == nil && e.Code == r.code {
			m.reject(e.Code, r.reason)
			return
		}
	}
	if e.Code == kafka.DuplicateBrokerRegistration && m.now >= m.began.Add(m.o.RegistrationLimit) {
		m.reject(e.Code, "another process with this node id is registered and alive")
		return
	}
	m.failed()
}

// enter begins the membership of a registration that the controller took, of a request sent at since or later.
func (m *Machine) enter(epoch kafka.BrokerEpoch, since kafka.Elapsed) {
	m.phase, m.epoch, m.failures, m.inFlight = PhaseMember, epoch, 0, 0
	m.session, m.next, m.previous = since, m.now, kafka.NoBrokerEpoch
	m.effects = append(m.effects, EpochChanged{m.epoch})
	if m.stopping {
		m.phase, m.stopping, m.answered = PhaseLeaving, false, m.now
	}
}

func (m *Machine) reject(code kafka.ErrorCode, reason string) {
	m.phase = PhaseGone
	m.effects = append(m.effects, Rejected{code, reason})
}

// heartbeatDone takes the answer to a heartbeat.
func (m *Machine) heartbeatDone(e HeartbeatDone) {
	if !m.mine(e.Ticket) || m.phase == PhaseRegistering {
		return
	}
	switch {
	case e.Err != nil:
		m.failed()
	case e.Code == kafka.StaleBrokerEpoch || e.Code == kafka.BrokerIDNotRegistered:
		m.registerAgain()
	case e.Code != kafka.None:
		m.failed()
	case m.phase == PhaseLeaving && e.ShouldShutdown:
		m.leave(true)
	default:
		m.failures, m.session, m.answered = 0, m.sentAt, m.now
		m.next = m.sentAt.Add(m.interval(e))
		if m.again {
			m.next = m.now
		}
	}
}

// interval is until the next heartbeat: short while an answer is expected to change something.
func (m *Machine) interval(e HeartbeatDone) time.Duration {
	if m.phase == PhaseLeaving || m.ready && !m.blind && (e.Fenced || m.image.Fenced || m.image.Epoch != m.epoch) {
		return min(eagerInterval, m.o.HeartbeatInterval)
	}
	return m.o.HeartbeatInterval
}

// registerAgain begins anew with the same process: the cluster does not know our registration any more. One that is leaving is gone already.
func (m *Machine) registerAgain() {
	if m.phase == PhaseLeaving {
		m.leave(false)
		return
	}
	m.phase, m.lost, m.epoch = PhaseRegistering, m.epoch, kafka.NoBrokerEpoch
	m.began, m.next, m.failures = m.now, m.now, 0
	m.effects = append(m.effects, EpochChanged{m.epoch})
}

// imageApplied takes in what the image says of us. News about ourselves make the next heartbeat due: the controller unfences us, or
// lets us go, when it hears that our image is that far.
func (m *Machine) imageApplied(e ImageApplied) {
	before := m.image
	m.image = e
	if m.phase == PhaseRegistering {
		if e.Incarnation == m.o.Incarnation && !e.Incarnation.IsZero() && e.Epoch > m.lost {
			m.enter(e.Epoch, m.began) // the answer is late, or lost
		}
		return
	}
	about := e.Epoch != before.Epoch || e.Fenced != before.Fenced
	outOfService := e.Epoch != m.epoch || e.Fenced
	if about && outOfService && m.ready || m.phase == PhaseLeaving && e.Index != before.Index {
		m.hurry()
	}
}

// shutdown begins to leave.
func (m *Machine) shutdown(e Shutdown) {
	if m.phase == PhaseLeaving || m.stopping {
		m.leaveUntil = min(m.leaveUntil, m.now.Add(e.Limit))
		return
	}
	registering := m.phase == PhaseRegistering
	if e.Limit <= 0 || registering && m.inFlight == 0 {
		m.leave(false)
		return
	}
	if registering { // it may have been taken: a stop that does not know its epoch would count as unclean later
		m.stopping, m.leaveUntil = true, m.now.Add(e.Limit)
		return
	}
	m.phase, m.leaveUntil, m.answered = PhaseLeaving, m.now.Add(e.Limit), m.now
	m.hurry()
}

func (m *Machine) leave(clean bool) {
	m.phase = PhaseGone
	m.effects = append(m.effects, Left{Clean: clean})
}
