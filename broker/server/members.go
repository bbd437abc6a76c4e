package server

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/membership"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// members runs the membership machine: it carries its effects out and brings it what happens. The machine and everything
// behind events is the loop's alone.
type members struct {
	server  *Server
	options membership.Options
	machine *membership.Machine // made by run
	events  chan membership.Event
	state   memberState
	left    chan membership.Left // has room for one
	refused chan membership.Rejected
}

func newMembers(s *Server, o membership.Options) *members {
	return &members{
		server: s, options: o, events: make(chan membership.Event, 64),
		left: make(chan membership.Left, 1), refused: make(chan membership.Rejected, 1),
	}
}

// run is the loop. It ends with the context. It begins when the logs are open: only then it is known whether the stop before
// counts as clean.
func (m *members) run(ctx context.Context) {
	m.options.PreviousEpoch = m.server.previousEpoch()
	m.machine = membership.New(m.options, m.server.clock.Elapsed())
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var e membership.Event = membership.Tick{}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case e = <-m.events:
		}
		for _, effect := range m.machine.Step(e, m.server.clock.Elapsed()) {
			m.carryOut(ctx, effect)
		}
		timer.Reset(max(m.machine.Deadline().Sub(m.server.clock.Elapsed()), 0))
	}
}

// tell brings an event to the loop; after the context has ended nobody listens.
func (m *members) tell(ctx context.Context, e membership.Event) {
	select {
	case m.events <- e:
	case <-ctx.Done():
	}
}

func (m *members) carryOut(ctx context.Context, effect membership.Effect) {
	s := m.server
	switch e := effect.(type) {
	case membership.SendRegistration:
		m.ask(ctx, e.Request, func(resp kmsg.Response, err error) membership.Event {
			done := membership.Registered{Ticket: e.Ticket, Err: err}
			if r, ok := resp.(*kmsg.BrokerRegistrationResponse); ok && err == nil {
				done.Code, done.Epoch = kafka.ErrorCode(r.ErrorCode), kafka.BrokerEpoch(r.BrokerEpoch)
			}
			return done
		})
	case membership.SendHeartbeat:
		m.ask(ctx, e.Request, func(resp kmsg.Response, err error) membership.Event {
			done := membership.HeartbeatDone{Ticket: e.Ticket, Err: err}
			if r, ok := resp.(*kmsg.BrokerHeartbeatResponse); ok && err == nil {
				done.Code, done.CaughtUp = kafka.ErrorCode(r.ErrorCode), r.IsCaughtUp
				done.Fenced, done.ShouldShutdown = r.IsFenced, r.ShouldShutdown
			}
			return done
		})
	case membership.EpochChanged:
		m.state.setEpoch(e.Epoch)
		s.log.Info("registered", "brokerEpoch", e.Epoch)
		s.wakeLogEnds()
	case membership.SetServing:
		m.state.serves.Store(e.Serving)
		if e.Serving {
			s.partitions.Unfence()
			s.groups.Unfence()
			s.log.Info("serving")
		} else {
			s.partitions.Fence()
			s.groups.Fence()
			s.log.Info("not serving as a leader", "reason", e.Reason)
		}
	case membership.Left:
		m.left <- e
	case membership.Rejected:
		m.refused <- e
	}
}

// ask sends one request to the controller. The machine has one in flight at a time.
func (m *members) ask(ctx context.Context, req kmsg.Request, event func(kmsg.Response, error) membership.Event) {
	req.SetVersion(req.MaxVersion())
	m.server.background.Go(func() {
		limit, cancel := context.WithTimeout(ctx, membership.RequestTimeout)
		defer cancel()
		resp, _, err := m.server.controller.once(limit, req)
		m.tell(ctx, event(resp, err))
	})
}

// leaderChanged tells the machine that another node decides. The quorum's goroutine calls it: should the loop be behind, it
// retries by itself a little later.
func (m *members) leaderChanged(leader kafka.NodeID) {
	select {
	case m.events <- membership.LeaderChanged{Leader: leader}:
	default:
	}
}

// imageApplied tells the machine what the newest image says of this broker.
func (m *members) imageApplied(image *metadata.Image) {
	e := membership.ImageApplied{Index: image.Version(), Epoch: kafka.NoBrokerEpoch}
	if b := image.Broker(m.server.node); b != nil {
		e.Epoch, e.Fenced, e.Incarnation = b.Epoch, b.Fenced, b.Incarnation
	}
	m.tell(m.server.running, e)
}
