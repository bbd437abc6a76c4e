package sim

import (
	"errors"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/membership"
	"github.com/fairlead-io/fairlead/broker/quorum"
)

// network is what lies between hosts. Clients are on every host's side: their requests are lost and late too, but never cut.
type network struct {
	loss, dup int // percent
	delay     time.Duration
	cut       map[link]bool // one way
	calms     int           // how often it was calmed
	holds     []*hold
}

// hold is what a script does to messages of one kind on one way: it keeps them until it lets them go, or slows them down.
type hold struct {
	w        *World
	from, to kafka.NodeID // anyone for every host
	key      int16        // of the request, or anyKey
	answers  bool         // of the answers to such requests, not of the requests
	copies   bool         // they arrive, and a copy is kept
	slow     time.Duration
	when     func() bool // nil: always
	over     bool        // it takes in no more
	waiting  []func()
}

const (
	anyone    = kafka.NodeID(-2)
	anyKey    = int16(-1)
	quorumKey = int16(-2) // messages of the quorum
)

// release lets go what was kept.
func (h *hold) release() {
	h.over = true
	for _, deliver := range h.waiting {
		h.w.after(0, deliver)
	}
	h.waiting = nil
}

// carry brings a message to its destination.
func (w *World) carry(from, to kafka.NodeID, key int16, answer bool, deliver func()) {
	transit := w.transit()
	for _, h := range w.net.holds {
		if h.over || h.answers != answer || h.from != from && h.from != anyone || h.to != to && h.to != anyone || h.key != key && h.key != anyKey ||
			h.when != nil && !h.when() {
			continue
		}
		if h.slow == 0 {
			h.waiting = append(h.waiting, deliver)
			if !h.copies {
				return
			}
		}
		transit += h.slow
	}
	w.after(transit, deliver)
}

type link struct{ from, to kafka.NodeID }

const (
	calmDelay = 2 * time.Millisecond
	client    = kafka.NodeID(1000) // every client
)

var (
	errLost    = errors.New("no answer")
	errRefused = errors.New("connection refused")
	errClosed  = errors.New("connection closed")
)

// passes tells whether something gets through now.
func (w *World) passes(from, to kafka.NodeID) bool {
	return !w.net.cut[link{from, to}] && !w.chance(w.net.loss)
}

func (w *World) transit() time.Duration { return w.between(50*time.Microsecond, w.net.delay) }

// post sends a quorum message one way, in its encoding.
func (w *World) post(from kafka.NodeID, to kafka.NodeID, m quorum.Message) {
	copies := 1
	if w.chance(w.net.dup) {
		copies = 2
	}
	data, err := m.AppendTo(nil)
	if err != nil {
		w.fail("encode quorum message: %v", err)
		return
	}
	for range copies {
		if !w.passes(from, to) {
			continue
		}
		w.carry(from, to, quorumKey, false, func() {
			w.onHost(to, func(p *process) {
				m, err := quorum.ParseMessage(data)
				if err != nil {
					w.fail("decode quorum message: %v", err)
					return
				}
				p.node.Step(m, w.now)
				p.pump()
			}, nil)
		})
	}
}

// call is a request with one answer: from another host or from a client.
type call struct {
	w    *World
	from *process // nil: a client
	to   kafka.NodeID
	at   *process // that has it; nil until it arrived
	done func(resp any, err error)
	over bool
}

// call asks a host; key says what kind of request it is. serve runs there and may answer later through the function that it is given; done runs on the caller's side,
// once, unless the caller's process ended.
func (w *World) call(from *process, to kafka.NodeID, key int16, serve func(p *process, answer func(resp any)), done func(resp any, err error)) {
	c := &call{w: w, from: from, to: to, done: done}
	origin := client
	if from != nil {
		origin = from.h.id
	}
	w.after(membership.RequestTimeout+w.net.delay, func() { c.end(nil, errLost) })
	if !w.passes(origin, to) {
		return
	}
	w.carry(origin, to, key, false, func() {
		w.onHost(to, func(p *process) {
			c.at = p
			p.calls = append(p.calls, c)
			serve(p, func(resp any) {
				if !w.passes(to, origin) {
					return
				}
				w.carry(to, origin, key, true, func() { c.end(resp, nil) })
			})
		}, func() { w.after(w.transit(), func() { c.end(nil, errRefused) }) })
	})
}

// end answers the caller.
func (c *call) end(resp any, err error) {
	if c.over {
		return
	}
	c.over = true
	if c.at != nil {
		c.at.forget(c)
	}
	if c.from == nil {
		c.done(resp, err)
		return
	}
	c.from.do(func() { c.done(resp, err) })
}

// onHost runs something on a host's process when its disk lets it; down runs when there is none.
func (w *World) onHost(id kafka.NodeID, do func(p *process), down func()) {
	p := w.hosts[id].proc
	if p == nil {
		if down != nil {
			down()
		}
		return
	}
	p.do(func() { do(p) })
}
