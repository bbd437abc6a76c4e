package partition

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
)

const (
	// TickEvery is how often the host should call Manager.Tick: the precision of timeouts and of replica.lag.time.max.ms.
	TickEvery = 50 * time.Millisecond
	// stall is a gap between ticks after which the process is taken to have stood still.
	stall = 2 * time.Second
	// spaceEvery is how often free space is looked at.
	spaceEvery = time.Second
	// alterRetry is the pause before an ISR change that failed is tried again.
	alterRetry = 250 * time.Millisecond
)

// Tick looks at the partitions that have something to wait for, and at the free space.
func (m *Manager) Tick(now kafka.Elapsed) {
	h := m.host
	last := kafka.Elapsed(h.now.Swap(int64(now)))
	m.endFailed(now)
	m.resign(now)
	if h.offline() && !m.failureTold {
		m.failureTold = true
		m.notifyAll()
	}
	if now.Sub(m.lastSpace) >= spaceEvery {
		m.lastSpace = now
		h.checkSpace(now)
	}
	if now.Sub(last) > stall {
		// After a pause of the whole process every follower looks late, while its fetch waits in a socket: leave one
		// round of ticks out.
		return
	}
	h.mu.Lock()
	waiting := h.restless
	h.restless = nil
	h.mu.Unlock()
	kept := waiting[:0]
	for _, p := range waiting {
		if kafka.Elapsed(p.due.Load()) > now {
			kept = append(kept, p)
			continue
		}
		p.tick(now)
	}
	h.mu.Lock()
	h.restless = append(kept, h.restless...)
	h.mu.Unlock()
}

// tick looks at the clock for one partition, and puts it back into the queue if it still waits for something.
func (p *Partition) tick(now kafka.Elapsed) {
	p.mu.Lock()
	p.marks.restless = false
	var then after
	if !p.closed {
		switch {
		case p.owesEpoch && p.machine.Role() == replica.Leader:
			p.startEpoch()
		case p.owed != nil:
			p.truncate(*p.owed)
		}
		if p.startWanted > p.log.StartOffset() && !p.offline() {
			p.followStart()
		}
		if at, will := p.flushAt(); p.flushOwed || will && at <= now {
			p.flushOwed = false
			p.host.addFlush(p)
		}
		p.machine.StepTick(now)
		then = p.carryOut(now)
	}
	p.mu.Unlock()
	then.run()
}

// lookAt is when a tick must look at the partition next; ok is false for never. p.mu is held.
func (p *Partition) lookAt(now kafka.Elapsed) (at kafka.Elapsed, ok bool) {
	if p.closed {
		return 0, false
	}
	at, ok = p.machine.LookAt(now)
	sooner := func(t kafka.Elapsed) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if t, will := p.flushAt(); will {
		sooner(t)
	}
	for i := range p.deletes {
		sooner(p.deletes[i].deadline)
	}
	if !p.offline() && (p.owed != nil || p.flushOwed || p.startWanted > p.log.StartOffset()) {
		sooner(now)
	}
	return at, ok
}

// followStart makes a follower's new log start durable. It is not done with each answer of the leader, since it costs
// an fsync and retention moves the start of many partitions at once.
func (p *Partition) followStart() {
	if err := p.log.AdvanceStart(p.startWanted); err != nil {
		p.storageError("advance the start of", err)
		return
	}
	p.startWanted = 0
}
