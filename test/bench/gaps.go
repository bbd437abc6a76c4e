package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// gaps keeps the times of acknowledgements, per partition.
type gaps struct {
	mu   sync.Mutex
	acks [][]time.Time
}

func newGaps(partitions int) *gaps { return &gaps{acks: make([][]time.Time, partitions)} }

// drive sends a record to each partition every few milliseconds until ctx ends.
func (g *gaps) drive(ctx context.Context, cl *kgo.Client, topic string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		for p := range g.acks {
			cl.Produce(ctx, &kgo.Record{Topic: topic, Partition: int32(p), Value: []byte("x")}, func(_ *kgo.Record, err error) {
				if err != nil {
					return
				}
				g.mu.Lock()
				defer g.mu.Unlock()
				g.acks[p] = append(g.acks[p], time.Now())
			})
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// allSince is nil when every partition has n acknowledgements after a moment.
func (g *gaps) allSince(from time.Time, n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p, acks := range g.acks {
		if len(acks) < n || !acks[len(acks)-n].After(from) {
			return fmt.Errorf("partition %d has less than %d acknowledgements", p, n)
		}
	}
	return nil
}

// longestSince is the longest time between two acknowledgements of a partition of which the second is after a moment.
func (g *gaps) longestSince(p int32, from time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	var longest time.Duration
	last := from
	for _, at := range g.acks[p] {
		if at.After(from) {
			longest = max(longest, at.Sub(last))
		}
		last = at
	}
	return longest
}
