package partition

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

const (
	// ReserveShare bounds the reserve on a small volume: at most one part in so many of it is kept free, whatever the
	// setting says. The reserve is for what must go on when appends do not: the quorum's log, checkpoints, journals,
	// compaction. That need does not grow with the volume, but a small volume that is mostly reserve would be of no use.
	ReserveShare = 20
	// reopenBytes must be free before appends are tried again after one met a full disk, without any reserve.
	reopenBytes = 1 << 20
	// firstHold and lastHold bound the wait before appends are tried again on a disk that refused one although it shows
	// space, as a quota does. The wait doubles: each attempt may move leaderships here and away again.
	firstHold = time.Second
	lastHold  = time.Minute
	// looksPerReserve is how often the free space is looked at while as much is appended as the reserve is large.
	looksPerReserve = 8
)

// space is a door for appends: shut when little space is left, and by an append that met a full disk.
type space struct {
	full     atomic.Bool
	lookIn   atomic.Int64 // bytes that may be appended until the next look; negative: a look is due
	mu       sync.Mutex
	hold     time.Duration // guarded by mu: how long the door stays shut after an append was refused
	opened   kafka.Elapsed // guarded by mu
	heldTill kafka.Elapsed // guarded by mu
}

// reserveOf is what is kept free of a volume.
func reserveOf(setting, total int64) int64 { return max(0, min(setting, total/ReserveShare)) }

// refused shuts the door after an append met a full disk.
func (s *space) refused(now kafka.Elapsed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full.Swap(true) {
		return
	}
	if s.hold == 0 || now.Sub(s.opened) > 2*s.hold {
		s.hold = firstHold
	} else {
		s.hold = min(2*s.hold, lastHold)
	}
	s.heldTill = now.Add(s.hold)
}

// look opens or shuts the door by what is free. It opens only with a quarter more than the reserve, so that it does not
// flap.
func (s *space) look(v vfs.Space, setting int64, now kafka.Elapsed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reserve := reserveOf(setting, v.Total)
	next := reserve
	if next == 0 {
		next = reopenBytes
	}
	s.lookIn.Store(next / looksPerReserve)
	switch {
	case !s.full.Load():
		s.full.Store(v.Free < reserve)
	case now >= s.heldTill && v.Free >= max(reserve+reserve/4, min(reopenBytes, v.Total/ReserveShare)):
		s.opened = now
		s.full.Store(false)
	}
}

// checkSpace looks at the volume. What cannot be found out changes nothing.
func (h *host) checkSpace(now kafka.Elapsed) {
	if v, err := h.o.Directory.Space(); err == nil {
		h.space.look(v, h.o.ReserveBytes, now)
	}
}

// spend counts what was appended, and looks at the volume when that is a good part of the reserve: a tick comes too late
// for a fast writer.
func (h *host) spend(bytes int) {
	if h.space.lookIn.Add(-int64(bytes)) < 0 {
		h.checkSpace(kafka.Elapsed(h.now.Load()))
	}
}
