package partition

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

func TestReserve(t *testing.T) {
	f := func(setting, total, want int64) {
		t.Helper()
		if got := reserveOf(setting, total); got != want {
			t.Errorf("reserveOf(%d, %d) = %d, want %d", setting, total, got, want)
		}
	}
	const mb = 1 << 20
	f(64*mb, 1<<40, 64*mb)
	f(64*mb, 64*mb*ReserveShare, 64*mb)
	f(64*mb, 64*mb, 64*mb/ReserveShare)
	f(0, 1<<40, 0)
	f(64*mb, 0, 0)
}

// TestDoor follows the door for appends. Each line is what a look finds free, when, and whether the door is shut then.
func TestDoor(t *testing.T) {
	const mb = 1 << 20
	at := func(d time.Duration) kafka.Elapsed { return kafka.Elapsed(d) }
	var s *space
	var total, setting int64
	look := func(when time.Duration, free int64, shut bool) {
		t.Helper()
		s.look(vfs.Space{Total: total, Free: free}, setting, at(when))
		if s.full.Load() != shut {
			t.Errorf("%v: %d free of %d with a reserve of %d: shut=%v, want %v", when, free, total, setting, !shut, shut)
		}
	}
	open := func(reserve, size int64) { s, total, setting = &space{}, size, reserve }

	open(64*mb, 1000*64*mb)
	look(0, 64*mb, false)
	look(1, 64*mb-1, true)
	look(2, 80*mb-1, true)
	look(3, 80*mb, false)
	if s.lookIn.Load() != 8*mb {
		t.Errorf("the next look is after %d bytes, want an eighth of the reserve", s.lookIn.Load())
	}

	open(64*mb, 100*mb) // a small volume: 5 MB of it
	look(0, 5*mb, false)
	look(1, 5*mb-1, true)
	look(2, 6*mb, true)
	look(3, 7*mb, false)

	open(0, 1000*mb) // without a reserve an append must find out
	look(0, 0, false)
	s.refused(at(0))
	look(time.Second, reopenBytes-1, true)
	look(time.Second, reopenBytes, false)

	open(mb, 1000*mb) // a quota: there seems to be space, and there is none
	want := firstHold
	now := time.Duration(0)
	for range 10 {
		s.refused(at(now))
		s.refused(at(now + 1)) // by another partition
		look(now+want-1, 500*mb, true)
		look(now+want, 500*mb, false)
		now += want + 1
		want = min(2*want, lastHold)
	}
	if want != lastHold {
		t.Errorf("the wait has grown to %v only", want)
	}
	now += time.Hour
	s.refused(at(now))
	look(now+firstHold, 500*mb, false)
}
