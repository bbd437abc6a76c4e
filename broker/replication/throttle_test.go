package replication

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

func TestThrottle(t *testing.T) {
	th := NewThrottle()
	at := func(d time.Duration) kafka.Elapsed { return kafka.Elapsed(d) }
	wait := func(now, want time.Duration) {
		t.Helper()
		if got := th.Wait(at(now)); got.Round(time.Millisecond) != want {
			t.Errorf("at %v: wait %v, want %v", now, got, want)
		}
	}
	const s = time.Second
	th.Take(1<<40, at(0))
	wait(0, 0) // no bound
	th.Set(1000, at(s))
	wait(s, 0)
	th.Take(1500, at(s)) // a batch is not cut: it is owed
	wait(s, 501*time.Millisecond)
	wait(s+400*time.Millisecond, 101*time.Millisecond)
	wait(s+502*time.Millisecond, 0)
	wait(60*s, 0)
	th.Take(1001, at(60*s)) // what was saved in a minute is a second's worth
	wait(60*s, 2*time.Millisecond)
	th.Take(1<<20, at(61*s))
	wait(61*s, s) // no longer, since the rate may change
	wait(600*s, s)
	th.Set(100<<20, at(600*s)) // what is owed is paid at the new rate
	wait(600*s, 5*time.Millisecond)
	wait(601*s, 0)
	th.Set(10, at(601*s)) // and what was saved does not outlive the old one
	th.Take(12, at(601*s))
	wait(601*s, 300*time.Millisecond)
	th.Set(0, at(602*s))
	wait(603*s, s) // nothing passes
	th.Set(Unlimited, at(10000*s))
	wait(10000*s, 0)
	if none := (*Throttle)(nil); none.Wait(0) != 0 {
		t.Error("no throttle makes wait")
	}
}

func TestAThrottledReplicaLeavesTheSession(t *testing.T) {
	th := NewThrottle()
	th.Set(1000, 0)
	f := NewFetcher(Options{Self: 2, Throttle: th}, nil)
	a, b := newFake(0), newFake(1)
	a.throttled = true
	f.Assign(a)
	f.Assign(b)
	expect(t, ask(f, 0), "session 0/0 0@0 1@0")
	f.Handle(answer(9, part{n: 0, bytes: 1500}, part{n: 1, bytes: 1 << 20}), nil, 0, 0)
	expect(t, ask(f, 0), "session 9/1 1@1048576 forget[0]")
	f.Handle(answer(9), nil, 0, 0)
	expect(t, ask(f, 100*time.Millisecond), "session 9/2")
	if at, ok := f.WakeAt(); !ok || time.Duration(at) != 501*time.Millisecond {
		t.Errorf("to be woken at %v, %v", at, ok)
	}
	f.Handle(answer(9), nil, kafka.Elapsed(600*time.Millisecond), 0)
	expect(t, ask(f, 600*time.Millisecond), "session 9/3 0@1500")

	// In sync it is throttled no more.
	f.Handle(answer(9, part{n: 0, bytes: 5000}), nil, kafka.Elapsed(600*time.Millisecond), 0)
	a.throttled = false
	expect(t, ask(f, 600*time.Millisecond), "session 9/4 0@6500")
}

func TestAThrottledReplicaAlone(t *testing.T) {
	th := NewThrottle()
	th.Set(1000, 0)
	f := NewFetcher(Options{Throttle: th}, nil)
	a := newFake(0)
	a.throttled = true
	f.Assign(a)
	ask(f, 0)
	f.Handle(answer(9, part{n: 0, bytes: 1500}), nil, 0, 0)
	expect(t, ask(f, 0), "nothing")
	f.Assign(a) // a new leader epoch, say
	expect(t, ask(f, 0), "nothing")
	expect(t, ask(f, 502*time.Millisecond), "session 0/0 0@1500")
}
