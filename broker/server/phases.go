package server

import (
	"sync"

	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// phases remembers when the broker's phase and the progress of recovery last changed, as seen by who asks for readiness.
type phases struct {
	mu            sync.Mutex
	phase         adminapi.Phase // guarded by mu, as is all below
	began, moved  kafka.Timestamp
	recoveredLogs int64
}

// since notes what is seen now and gives the two times in milliseconds since the Unix epoch.
func (p *phases) since(phase adminapi.Phase, recovered int64, now kafka.Timestamp) (began, moved int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase != phase {
		p.phase, p.began = phase, now
	}
	if p.moved == 0 || p.recoveredLogs != recovered {
		p.recoveredLogs, p.moved = recovered, now
	}
	return int64(p.began), int64(p.moved)
}
