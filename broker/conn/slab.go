package conn

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Slabs come in classes, four to each doubling, so that at most a quarter of one is unused.
const (
	minSlabShift = 10 // 1 KiB
	maxSlabShift = 27 // 128 MiB; what is larger is not pooled
	slabClasses  = (maxSlabShift-minSlabShift)*4 + 1
)

// slabClass is the smallest class that holds n bytes, and its size; -1 and n itself when no class does.
func slabClass(n int) (class, size int) {
	if n <= 1<<minSlabShift {
		return 0, 1 << minSlabShift
	}
	shift := bits.Len(uint(n-1)) - 1 // 1<<shift < n <= 2<<shift
	quarter := 1 << shift >> 2
	steps := (n - 1<<shift + quarter - 1) / quarter // 1 to 4
	class = (shift-minSlabShift)*4 + steps
	if class >= slabClasses {
		return -1, n
	}
	return class, 1<<shift + steps*quarter
}

// slab is a pooled buffer with a reference count. The last release puts it back, and gives its bytes back to the bound
// that they were taken from.
type slab struct {
	refs   atomic.Int32
	buf    []byte // as long as was asked for; its capacity is the class's size
	class  int
	pool   *slabPool
	bound  *semaphore.Weighted // nil: none
	charge int64
}

func (s *slab) retain() {
	if s.refs.Add(1) <= 1 {
		panic("conn: request retained after its last release")
	}
}

func (s *slab) release() {
	switch n := s.refs.Add(-1); {
	case n == 0:
		s.pool.put(s)
	case n < 0:
		panic("conn: request released too often")
	}
}

// slabPool hands out slabs. Its memory is the garbage collector's to take back when idle.
type slabPool struct {
	classes [slabClasses]sync.Pool
	inUse   atomic.Int64 // bytes
	poison  bool
}

// poisonByte fills slabs that are not in use, in tests.
const poisonByte = 0xdb

// take gives a slab of n bytes with one reference. Its contents are undefined. The charge, already acquired from the
// bound, is released with the slab.
func (p *slabPool) take(n int, bound *semaphore.Weighted, charge int64) *slab {
	class, size := slabClass(n)
	var s *slab
	if class >= 0 {
		s, _ = p.classes[class].Get().(*slab)
	}
	if s == nil {
		s = &slab{buf: make([]byte, size), class: class, pool: p}
	} else if p.poison && !allPoison(s.buf[:cap(s.buf)]) {
		panic("conn: request body written to after its last release")
	}
	s.buf = s.buf[:n]
	s.bound, s.charge = bound, charge
	s.refs.Store(1)
	p.inUse.Add(int64(size))
	return s
}

func (p *slabPool) put(s *slab) {
	s.buf = s.buf[:cap(s.buf)]
	p.inUse.Add(-int64(len(s.buf)))
	if p.poison {
		for i := range s.buf {
			s.buf[i] = poisonByte
		}
	}
	if s.bound != nil {
		bound, charge := s.bound, s.charge
		s.bound = nil
		defer bound.Release(charge)
	}
	if s.class >= 0 {
		p.classes[s.class].Put(s)
	}
}

func allPoison(b []byte) bool {
	for _, c := range b {
		if c != poisonByte {
			return false
		}
	}
	return true
}
