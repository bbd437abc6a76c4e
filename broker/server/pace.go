package server

import (
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
)

// pace is when recovery was last seen to get on, by who asks for health or readiness. So a probe sees at most its own period more of
// standing still than there was.
type pace struct {
	mu    sync.Mutex
	seen  bool               // guarded by mu, as is all below
	last  partition.Progress // what was seen last
	moved kafka.Elapsed      // when it was another
}

// still notes what is seen now and gives for how long it has been the same.
func (p *pace) still(now partition.Progress, at kafka.Elapsed) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.seen || p.last != now {
		p.seen, p.last, p.moved = true, now, at
	}
	return max(0, at.Sub(p.moved))
}
