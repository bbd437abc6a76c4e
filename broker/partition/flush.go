package partition

import (
	"math"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
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

// afterMs is the time so many milliseconds after another; ok is false when it never comes.
func afterMs(from kafka.Elapsed, ms int64) (at kafka.Elapsed, ok bool) {
	if ms > (math.MaxInt64-max(int64(from), 0))/int64(time.Millisecond) {
		return math.MaxInt64, false
	}
	return from.Add(time.Duration(ms) * time.Millisecond), true
}

// flushAt is when flush.ms asks for a flush; ok is false when nothing is unflushed, or flush.ms is never. p.mu is held.
func (p *Partition) flushAt() (at kafka.Elapsed, ok bool) {
	if p.dirtyBytes == 0 || p.marks.flush {
		return 0, false
	}
	return afterMs(p.dirtySince, p.settings.Load().FlushMs)
}

// askFlush asks for a flush of this partition by Manager.Flush.
func (p *Partition) askFlush() {
	p.mu.Lock()
	p.host.addFlush(p)
	p.mu.Unlock()
}

// flush makes the log durable up to its present end and tells the machine. While it waits for the disk appends and reads go on, so
// that one fsync serves all that was appended since the last. No lock is held.
func (p *Partition) flush(now kafka.Elapsed) {
	p.mu.Lock()
	if p.closed || p.offline() {
		p.mu.Unlock()
		return
	}
	bytes := p.dirtyBytes
	f, err := p.log.BeginFlush()
	if f != nil {
		p.mu.Unlock()
		f.Sync()
		p.mu.Lock()
		err = p.log.CommitFlush(f)
	}
	if p.closed { // meanwhile: its end flushed what there was
		if err != nil {
			p.storageError("flush", err)
		}
		p.mu.Unlock()
		return
	}
	p.flushed(bytes, err, now)
	then := p.carryOut(now)
	p.mu.Unlock()
	then.run()
}

// flushed takes the end of a flush that began, at now, with so many unflushed bytes. p.mu is held.
func (p *Partition) flushed(bytes int, err error, now kafka.Elapsed) {
	if err != nil {
		p.storageError("flush", err)
		p.flushOwed = heals(err) // by a tick; else what waits for it would wait for the next append
		return
	}
	point := p.log.RecoveryPoint()
	if point == p.log.EndOffset() {
		p.dirtyBytes = 0
	} else {
		p.dirtyBytes, p.dirtySince = max(0, p.dirtyBytes-bytes), now
	}
	p.machine.StepFlushed(point, now)
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
		p.marks.flush = false // what comes from here on needs the next
		p.mu.Unlock()
		p.flush(now)
	})
}

// FlushWanted receives when Flush has work.
func (m *Manager) FlushWanted() <-chan struct{} { return m.host.wakeFlush }
