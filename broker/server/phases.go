package server

import (
	"sync"

	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// phases remembers when the broker's phase last changed, as seen by who asks for readiness.
type phases struct {
	mu    sync.Mutex
	phase adminapi.Phase  // guarded by mu
	began kafka.Timestamp // guarded by mu
}

// since notes what is seen now and gives when that began, in milliseconds since the Unix epoch.
func (p *phases) since(phase adminapi.Phase, now kafka.Timestamp) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase != phase {
		p.phase, p.began = phase, now
	}
	return int64(p.began)
}
