package partition

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
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
			p.flush(now)
		}
		p.mu.Lock()
		p.marks.dirty = false
		if p.dirtyBytes > 0 && !p.closed {
			h.addDirty(p)
		}
		p.mu.Unlock()
	}
}
