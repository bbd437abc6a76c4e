package catalogue

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Bounds of one request that changes topics.
const (
	// maxBatch is how many topics it is about.
	maxBatch = 200
	// maxBatchWeight is how many partitions it adds in all: brokers refuse more in one request. One topic may have more by itself.
	maxBatchWeight = 10_000
)

// batch gathers changes of one kind while a request is on its way, and sends them together. Each waits for its own answer.
type batch[T any] struct {
	what string
	send func(context.Context, []T) ([]error, error)
	// topic names the topic of a change: two for one topic do not go together. weight counts partitions.
	topic  func(T) string
	weight func(T) int

	running context.Context
	wait    sync.WaitGroup

	// mu guards the following.
	mu      sync.Mutex
	closed  bool
	queue   []*change[T]
	sending time.Time // when the request that is on its way began; zero: none is
}

type change[T any] struct {
	what      T
	err       error // once done is closed
	done      chan struct{}
	abandoned bool // under the batch's lock: nobody waits for it
}

// do has a change made. An error that is no refusal of the brokers leaves open whether it was made.
func (b *batch[T]) do(ctx context.Context, what T) error {
	c := &change[T]{what: what, done: make(chan struct{})}
	b.mu.Lock()
	switch now := time.Now(); {
	case b.closed:
		b.mu.Unlock()
		return fmt.Errorf("%s %s: the cluster is gone", b.what, b.topic(what))
	case b.sending.IsZero():
		b.sending = now
		b.wait.Add(1)
		go b.run()
	case now.Sub(b.sending) > Patience:
		b.mu.Unlock()
		return fmt.Errorf("%s %s: the brokers have not answered the request before", b.what, b.topic(what))
	}
	b.queue = append(b.queue, c)
	b.mu.Unlock()

	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-c.done:
		return c.err
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	c.abandoned = true
	b.mu.Unlock()
	select {
	case <-c.done:
		return c.err
	default:
		return fmt.Errorf("%s %s: no broker answered within %v", b.what, b.topic(what), Patience)
	}
}

// run sends requests until there is nothing to send.
func (b *batch[T]) run() {
	defer b.wait.Done()
	for {
		b.mu.Lock()
		now := b.take()
		if len(now) == 0 {
			b.sending = time.Time{}
			b.mu.Unlock()
			return
		}
		b.sending = time.Now()
		b.mu.Unlock()
		asked := make([]T, len(now))
		for i, c := range now {
			asked[i] = c.what
		}
		errs, err := b.send(b.running, asked)
		for i, c := range now {
			if c.err = err; err == nil {
				c.err = errs[i]
			}
			close(c.done)
		}
	}
}

// take takes the next request's changes off the queue, in their order. The caller has the lock.
func (b *batch[T]) take() []*change[T] {
	var now, later []*change[T]
	weight, topics := 0, map[string]bool{}
	for _, c := range b.queue {
		name, w := b.topic(c.what), b.weight(c.what)
		switch {
		case c.abandoned:
		case len(now) == maxBatch, topics[name], len(now) > 0 && weight+w > maxBatchWeight:
			later = append(later, c)
		default:
			now, weight, topics[name] = append(now, c), weight+w, true
		}
	}
	b.queue = later
	return now
}

func (b *batch[T]) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.wait.Wait()
}
