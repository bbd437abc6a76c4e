package membership

import (
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Phase is where a broker is in its life.
type Phase uint8

// The phases; see the picture in the package comment. Fenced and Active differ by the image only.
const (
	PhaseRegistering Phase = iota
	PhaseMember
	PhaseLeaving
	PhaseGone
)

// Machine is the state of one broker's membership. It is not safe for concurrent use.
type Machine struct {
	o     Options
	now   kafka.Elapsed
	phase Phase
	epoch kafka.BrokerEpoch
	ready bool

	image   ImageApplied
	serving bool
	session kafka.Elapsed // when the last request that succeeded was sent

	last       Ticket
	inFlight   Ticket // 0: none
	sentAt     kafka.Elapsed
	again      bool              // something changed since the request in flight was made: the next follows its answer
	next       kafka.Elapsed     // when the next request is due
	failures   int               // requests that failed in a row
	began      kafka.Elapsed     // when it began to register
	lost       kafka.BrokerEpoch // of the registration that was called stale
	stopping   bool              // asked to leave while a registration was under way
	leaveUntil kafka.Elapsed     // when leaving
	answered   kafka.Elapsed     // when leaving: of the last good answer, or of the beginning
	offline    [][16]byte        // failed directories
	full       bool              // there is no space to append
	stalled    bool              // the image stands still
	stalledAt  kafka.Elapsed     // since when, if it does
	blind      bool              // and has for a session timeout
	previous   kafka.BrokerEpoch // epoch of a clean stop, until a registration succeeded

	effects []Effect // of the step under way
}

// New is the machine of a process that begins at now.
func New(o Options, now kafka.Elapsed) *Machine {
	orDefault(&o.HeartbeatInterval, DefaultHeartbeatInterval)
	orDefault(&o.SessionTimeout, DefaultSessionTimeout)
	orDefault(&o.RegistrationLimit, DefaultRegistrationLimit)
	return &Machine{
		o: o, now: now, next: now, began: now, epoch: kafka.NoBrokerEpoch, lost: kafka.NoBrokerEpoch,
		image: ImageApplied{Epoch: kafka.NoBrokerEpoch}, previous: o.PreviousEpoch,
	}
}

func orDefault(d *time.Duration, v time.Duration) {
	if *d == 0 {
		*d = v
	}
}

// Step takes in an event and returns what is to be done, in order. The effects are the caller's.
func (m *Machine) Step(e Event, now kafka.Elapsed) []Effect {
	m.now = max(m.now, now)
	if m.phase == PhaseGone {
		return nil
	}
	m.effects = nil
	switch e := e.(type) {
	case Ready:
		m.ready = true
		m.hurry()
	case Registered:
		m.registered(e)
	case HeartbeatDone:
		m.heartbeatDone(e)
	case ImageApplied:
		m.imageApplied(e)
	case LeaderChanged:
		switch {
		case e.Leader == kafka.NoNode:
		case m.failures > 0:
			m.next = m.now
		case m.phase != PhaseRegistering:
			m.hurry() // it does not know yet that we live
		}
	case Shutdown:
		m.shutdown(e)
	case DirectoryFailed:
		if id := [16]byte(e.Directory); !slices.Contains(m.offline, id) {
			m.offline = append(m.offline, id)
			m.hurry()
		}
	case DiskFull:
		if e.Full != m.full {
			m.full = e.Full
			m.hurry()
		}
	case QuorumStalled:
		if e.Stalled != m.stalled {
			m.stalled, m.stalledAt = e.Stalled, m.now
		}
	}
	m.look()
	m.due()
	m.decideServing()
	return m.effects
}

// Deadline is when [Tick] should come next, at the latest.
func (m *Machine) Deadline() kafka.Elapsed {
	if m.phase == PhaseGone {
		return m.now.Add(time.Hour)
	}
	d := m.next
	if m.inFlight != 0 {
		d = m.sentAt.Add(RequestTimeout)
	}
	if m.serving {
		d = min(d, m.session.Add(m.o.SessionTimeout))
	}
	if m.stalled && !m.blind {
		d = min(d, m.stalledAt.Add(m.o.SessionTimeout))
	}
	if m.phase == PhaseLeaving {
		d = min(d, m.leaveUntil, m.answered.Add(LonelyLimit))
	}
	if m.stopping {
		d = min(d, m.leaveUntil)
	}
	return d
}

// Epoch is the broker epoch of our registration, NoBrokerEpoch before it.
func (m *Machine) Epoch() kafka.BrokerEpoch { return m.epoch }

// Phase is where the broker is.
func (m *Machine) Phase() Phase { return m.phase }

// Serving tells whether the broker may serve as a leader.
func (m *Machine) Serving() bool { return m.serving }

// hurry sends the next request as soon as the one in flight is answered.
func (m *Machine) hurry() {
	m.again = m.inFlight != 0
	if m.failures == 0 {
		m.next = m.now
	}
}

// look notices that the image has stood still for a session timeout, or goes on: see rule 9.
func (m *Machine) look() {
	if blind := m.stalled && m.now >= m.stalledAt.Add(m.o.SessionTimeout); blind != m.blind {
		m.blind = blind
		m.hurry()
	}
}

// due does what time demands.
func (m *Machine) due() {
	if m.phase == PhaseLeaving && (m.now >= m.leaveUntil || m.now >= m.answered.Add(LonelyLimit)) {
		m.leave(false)
		return
	}
	if m.stopping && m.now >= m.leaveUntil {
		m.leave(false)
		return
	}
	if m.inFlight != 0 && m.now >= m.sentAt.Add(RequestTimeout) {
		m.inFlight = 0
		m.failed()
	}
	if m.phase != PhaseGone && m.inFlight == 0 && m.now >= m.next {
		m.send()
	}
}

// failed waits before the next request, longer each time. Who is stopping and not registered has nothing to wait for.
func (m *Machine) failed() {
	if m.stopping {
		m.leave(false)
		return
	}
	wait := firstRetry << min(m.failures, 16)
	m.failures++
	m.next = m.now.Add(min(wait, lastRetry))
}

// send sends the request that the phase needs.
func (m *Machine) send() {
	m.last++
	m.inFlight, m.sentAt, m.again = m.last, m.now, false
	if m.phase == PhaseRegistering {
		m.effects = append(m.effects, SendRegistration{m.last, m.registration()})
		return
	}
	m.effects = append(m.effects, SendHeartbeat{m.last, m.heartbeat()})
}

// mine tells whether a reply is to the request in flight, and takes that as answered.
func (m *Machine) mine(t Ticket) bool {
	if t != m.inFlight || t == 0 {
		return false
	}
	m.inFlight = 0
	return true
}

// decideServing compares what may be with what is.
func (m *Machine) decideServing() {
	reason := ""
	switch {
	case m.phase == PhaseRegistering:
		reason = "not registered"
	case m.phase == PhaseGone:
		reason = "stopping"
	case m.image.Epoch != m.epoch:
		reason = "this registration is not in the metadata"
	case m.image.Fenced:
		reason = "fenced"
	case m.blind:
		reason = "the metadata has stood still for the session timeout"
	case m.now >= m.session.Add(m.o.SessionTimeout):
		reason = "the quorum was not reached for the session timeout"
	}
	if serving := reason == ""; serving != m.serving {
		m.serving = serving
		// Before anything else of this step: who stops serving must do so first.
		m.effects = slices.Insert(m.effects, m.servingPlace(), Effect(SetServing{serving, reason}))
	}
}

// servingPlace is behind a change of the epoch, before all else.
func (m *Machine) servingPlace() int {
	if len(m.effects) > 0 {
		if _, ok := m.effects[0].(EpochChanged); ok {
			return 1
		}
	}
	return 0
}
