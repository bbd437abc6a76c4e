package partition

import (
	"math"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// noteUnflushed remembers since when flush.ms counts. p.mu is held.
func (p *Partition) noteUnflushed(bytes int, now kafka.Elapsed) {
	if p.dirtyBytes == 0 {
		p.dirtySince = now
		p.host.addDirty(p)
	}
	p.dirtyBytes += bytes
	p.host.spend(bytes)
	p.writtenBytes += int64(bytes)
}

// flushAt is when flush.ms asks for a flush; ok is false when nothing is unflushed, or flush.ms is never. p.mu is held.
func (p *Partition) flushAt() (at kafka.Elapsed, ok bool) {
	ms := p.settings.Load().FlushMs
	if p.dirtyBytes == 0 || p.marks.flush || ms > int64(math.MaxInt64/time.Millisecond) {
		return 0, false
	}
	return p.dirtySince.Add(time.Duration(ms) * time.Millisecond), true
}

// flushWanted is the machine's wish: what is appended shall be on the disk before it counts. A leader's flush is left to
// Manager.Flush, so that one fsync serves all that was appended since the last; a follower's must be over before its
// next fetch, which is how the leader learns of it.
func (p *Partition) flushWanted(now kafka.Elapsed) {
	if p.machine.Role() == replica.Follower {
		p.flush(now)
		return
	}
	p.host.addFlush(p)
}

// flush makes the log durable up to its end and tells the machine. p.mu is held; the caller carries out.
func (p *Partition) flush(now kafka.Elapsed) {
	end := p.log.EndOffset()
	if err := p.log.Flush(); err != nil {
		p.storageError("flush", err)
		p.flushOwed = heals(err) // by a tick; else what waits for it would wait for the next append
		return
	}
	p.dirtyBytes = 0
	p.machine.StepFlushed(end, now)
}

// Flush makes durable what partitions have asked for since the last call: the group commit of flush.messages. FlushWanted
// signals that there is something.
func (m *Manager) Flush(now kafka.Elapsed) {
	m.host.mu.Lock()
	due := m.host.flush
	m.host.flush = nil
	m.host.mu.Unlock()
	m.host.o.EachSync(len(due), func(i int) {
		p := due[i]
		p.mu.Lock()
		p.marks.flush = false
		var then after
		if !p.closed {
			p.flush(now)
			then = p.carryOut(now)
		}
		p.mu.Unlock()
		then.run()
	})
}

// FlushWanted receives when Flush has work.
func (m *Manager) FlushWanted() <-chan struct{} { return m.host.wakeFlush }
