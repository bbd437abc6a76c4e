package replication

import (
	"math"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Throttle bounds how fast a broker copies records of throttled replicas that are not in sync, in bytes per second over all its
// connections: one for what it takes in as a follower, one for what it sends as a leader. A fetch is let through when the bytes
// of earlier ones are paid for; a large batch is then owed for as long as the rate demands, so that the rate holds also where
// it is far below the size of a batch. Its methods may be called from any goroutine; nil is no throttle.
type Throttle struct {
	mu     sync.Mutex // guards all
	rate   int64      // bytes per second; Unlimited when there is no bound
	credit float64    // bytes that may go at once, at most those of a second; < 0 is owed
	at     kafka.Elapsed
}

// Unlimited is the rate of a throttle that bounds nothing.
const Unlimited = math.MaxInt64

// maxThrottleWait is the longest time until a throttled replica is looked at again: the rate may have changed meanwhile.
const maxThrottleWait = time.Second

// NewThrottle makes one without a bound.
func NewThrottle() *Throttle { return &Throttle{rate: Unlimited} }

// Set changes the rate, in bytes per second. What is owed stays owed.
func (t *Throttle) Set(rate int64, now kafka.Elapsed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if rate == t.rate {
		return
	}
	if t.rate == Unlimited {
		t.credit, t.at = float64(rate), now
	}
	t.settle(now)
	t.rate = rate
	t.credit = min(t.credit, float64(rate))
}

// Wait is how long throttled replicas have to wait; 0: not at all.
func (t *Throttle) Wait(now kafka.Elapsed) time.Duration {
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rate == Unlimited {
		return 0
	}
	if t.settle(now); t.credit > 0 {
		return 0
	}
	seconds := (1 - t.credit) / float64(t.rate) // until there is a byte of credit; infinite for a rate of 0
	if seconds >= maxThrottleWait.Seconds() {
		return maxThrottleWait
	}
	return max(time.Duration(seconds*float64(time.Second)), time.Millisecond)
}

// Take notes bytes of a throttled replica that were copied.
func (t *Throttle) Take(bytes int, now kafka.Elapsed) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rate != Unlimited {
		t.settle(now)
		t.credit -= float64(bytes)
	}
}

// settle adds the credit of the time that has passed.
func (t *Throttle) settle(now kafka.Elapsed) {
	if d := now.Sub(t.at); d > 0 && t.rate != Unlimited {
		t.credit = min(t.credit+d.Seconds()*float64(t.rate), float64(t.rate))
		t.at = now
	}
}
