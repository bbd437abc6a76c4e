package partition

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
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
	if now.Sub(m.lastSpace) >= spaceEvery {
		m.lastSpace = now
		h.checkSpace()
	}
	if now.Sub(last) > stall {
		// After a pause of the whole process every follower looks late, while its fetch waits in a socket: leave one
		// round of ticks out.
		return
	}
	h.mu.Lock()
	due := h.restless
	h.restless = nil
	h.mu.Unlock()
	for _, p := range due {
		p.tick(now)
	}
}

// tick looks at the clock for one partition, and puts it back into the queue if it still waits for something.
func (p *Partition) tick(now kafka.Elapsed) {
	p.mu.Lock()
	p.marks.restless = false
	var then after
	if !p.closed {
		if p.owed != nil {
			p.truncate(*p.owed)
		}
		if p.startWanted > p.log.StartOffset() {
			p.followStart()
		}
		if due, _ := p.flushDue(now); due {
			p.host.addFlush(p)
		}
		p.machine.StepTick(now)
		then = p.carryOut(now)
	}
	p.mu.Unlock()
	then.run()
}

// restless tells whether the next tick must look at the partition. p.mu is held.
func (p *Partition) restless() bool {
	if p.closed {
		return false
	}
	_, flushLater := p.flushDue(kafka.Elapsed(p.host.now.Load()))
	return flushLater || p.owed != nil || len(p.deletes) > 0 || p.startWanted > p.log.StartOffset() || p.machine.Restless()
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
