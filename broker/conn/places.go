package conn

import (
	"context"
	"sync"
)

// places bounds connections by a limit that may change. It may fall below what is taken: then nothing more is given until enough came back.
type places struct {
	mu    sync.Mutex
	limit int           // guarded by mu
	taken int           // guarded by mu
	freed chan struct{} // closed and replaced when somebody who waits should look again; guarded by mu
}

func newPlaces(limit int) *places { return &places{limit: limit, freed: make(chan struct{})} }

// tryTake takes a place if there is one.
func (p *places) tryTake() bool {
	taken, _ := p.try()
	return taken
}

func (p *places) try() (taken bool, freed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken < p.limit {
		p.taken++
		return true, nil
	}
	return false, p.freed
}

// take waits for a place until the context ends.
func (p *places) take(ctx context.Context) error {
	for {
		taken, freed := p.try()
		if taken {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *places) giveBack() {
	p.mu.Lock()
	defer p.mu.Unlock()
	full := p.taken >= p.limit
	p.taken--
	if full {
		p.wake()
	}
}

func (p *places) setLimit(limit int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = limit
	p.wake()
}

func (p *places) bound() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit
}

// wake is called with the mutex held.
func (p *places) wake() {
	close(p.freed)
	p.freed = make(chan struct{})
}
