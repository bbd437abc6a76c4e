package partition

import (
	"errors"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/seglog"
)

// What is unflushed when the process is killed must be read again at the next start. So the tail is bounded, whatever
// flush.messages and flush.ms say, and without anybody waiting for it.
const (
	maxDirtyBytes = 64 << 20
	maxDirtyAge   = 30 * time.Second
)

// FlushOld flushes partitions of which much, or something old, is unflushed. The kernel has written most of it by then.
// stop is asked between partitions.
func (m *Manager) FlushOld(stop func() error, now kafka.Elapsed) {
	h := m.host
	h.mu.Lock()
	dirty := h.dirty
	h.dirty = nil
	h.mu.Unlock()
	for _, p := range dirty {
		p.mu.Lock()
		old := p.dirtyBytes >= maxDirtyBytes || p.dirtyBytes > 0 && now.Sub(p.dirtySince) >= maxDirtyAge
		p.mu.Unlock()
		if old && stop() == nil {
			p.flushOld(now)
		}
		p.mu.Lock()
		p.marks.dirty = false
		if p.dirtyBytes > 0 && !p.closed {
			h.addDirty(p)
		}
		p.mu.Unlock()
	}
}

// flushOld writes the bulk to the disk without the mutex, and only what came meanwhile with it.
func (p *Partition) flushOld(now kafka.Elapsed) {
	if p.offline() {
		return
	}
	if err := syncAhead(p.log); err != nil {
		p.storageError("flush", err)
		return
	}
	p.mu.Lock()
	var then after
	if !p.closed {
		p.flush(now)
		then = p.carryOut(now)
	}
	p.mu.Unlock()
	then.run()
}

// syncAhead syncs the files of the segments that hold something unflushed, as they are now, while appends go on. The log
// does not know of it: its own Flush then finds little left to do.
func syncAhead(log *seglog.Log) error {
	from, end := log.RecoveryPoint(), log.EndOffset()
	segments := log.Segments()
	for i, s := range segments {
		next := end
		if i+1 < len(segments) {
			next = segments[i+1].Base
		}
		if next <= from || s.Size == 0 {
			continue
		}
		slice, err := log.Read(seglog.ReadRequest{From: max(s.Base, from), Limit: next, MaxBytes: 1, AtLeastOneBatch: true})
		switch {
		case errors.Is(err, seglog.ErrOffsetOutOfRange), errors.Is(err, seglog.ErrClosed):
			continue // deleted or truncated meanwhile
		case err != nil:
			return err
		case slice.Len == 0:
			continue
		}
		err = slice.File.Sync()
		slice.Release()
		if err != nil {
			return err
		}
	}
	return nil
}
