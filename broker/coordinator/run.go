package coordinator

import (
	"context"
	"sync"
	"time"
)

// maxIdle bounds a sleep of the timer loop.
const maxIdle = time.Minute

// Run drives loads and deadlines until ctx ends, then resigns from all shards and returns when its goroutines have ended:
// Loaders loaders, each with one buffer of LoadBufferBytes, one worker for shards whose callers have done enough, and the
// timer, which is this goroutine. Elapsed times of the Clock must pass as real time does.
func (g *Groups) Run(ctx context.Context) {
	timer := make(chan struct{}, 1)
	loads := make(chan struct{}, 1)
	poke := func() {
		select {
		case timer <- struct{}{}:
		default:
		}
	}
	overflow := make(chan *shard) // unbuffered: a shard is handed over only to who takes it
	g.poke.Store(&poke)
	g.overflow.Store(&overflow)

	var wg sync.WaitGroup
	for range max(g.conf.Load().Loaders, 1) {
		wg.Go(func() { g.loadLoop(ctx, loads, poke) })
	}
	wg.Go(func() {
		for {
			select {
			case s := <-overflow:
				s.turn()
			case <-ctx.Done():
				return
			}
		}
	})
	g.timerLoop(ctx, timer, loads)

	g.overflow.Store(nil)
	g.poke.Store(nil)
	wg.Wait()
	g.Close()
}

// loadLoop loads while there is something to load, then waits for the timer loop to say that there is again.
func (g *Groups) loadLoop(ctx context.Context, loads <-chan struct{}, poke func()) {
	var buf []byte
	for {
		for ctx.Err() == nil && g.LoadStep(&buf) {
		}
		if _, load := g.deadlines(); load == never {
			buf = nil // an idle broker keeps no buffer
		}
		poke() // what is not due yet is the timer's
		select {
		case <-loads:
			poke() // perhaps there is work for another loader too
		case <-ctx.Done():
			return
		}
	}
}

func (g *Groups) timerLoop(ctx context.Context, timer <-chan struct{}, loads chan<- struct{}) {
	t := time.NewTimer(maxIdle)
	defer t.Stop()
	for {
		g.Tick()
		now := g.o.Clock.Elapsed()
		tick, load := g.deadlines()
		if load <= now {
			select {
			case loads <- struct{}{}:
			default: // the loaders have work, and poke when they have done it
			}
			load = never
		}
		t.Reset(min(maxIdle, time.Duration(max(min(tick, load)-now, 0))))
		select {
		case <-t.C:
		case <-timer:
		case <-ctx.Done():
			return
		}
	}
}
