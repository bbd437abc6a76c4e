package partition_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
)

// TestConcurrentUse has producers, a follower, readers, watchers and the manager's loops at one partition at once; it is
// for the race detector. Each producer's answers come in the order of its calls.
func TestConcurrentUse(t *testing.T) {
	for _, messages := range []string{"9223372036854775807", "1", "3"} {
		t.Run("flush.messages="+messages, func(t *testing.T) { useConcurrently(t, messages) })
	}
}

func useConcurrently(t *testing.T, flushMessages string) {
	c := newCluster(t, 2, nil)
	c.topic(0, 1)
	c.set("flush.messages", flushMessages)
	leader, follower := c.brokers[0], c.brokers[1]
	begin := time.Now()
	clock := func() (kafka.Elapsed, kafka.Timestamp) {
		return kafka.Elapsed(time.Since(begin)), kafka.TimestampOf(time.Now())
	}
	ctx, stop := context.WithCancel(context.Background())
	var background sync.WaitGroup
	for _, b := range c.brokers {
		background.Go(func() {
			b.m.Run(ctx, clock, partition.Intervals{Watermarks: time.Millisecond, Recovery: time.Millisecond, Retention: time.Millisecond}, func(r partition.Report) {
				if r.Err != nil {
					t.Error(r.Doing, r.Err)
				}
			})
		})
	}
	background.Go(func() { // the follower's loop
		for ctx.Err() == nil {
			f := follower.set.Fetcher(0)
			now, wall := clock()
			if req, ok := f.Next(now, kafka.NoBrokerEpoch); ok {
				f.Handle(leader.serve(req), nil, now, wall)
			}
		}
	})
	background.Go(func() { // a consumer
		n := &counting{}
		w := &partition.Watch{Watcher: n, Kind: partition.WatchHighWatermark}
		for ctx.Err() == nil {
			leader.partition().Watch(w)
			leader.read(0, partition.ReadCommitted)
			leader.partition().Describe()
			w.Stop()
		}
	})
	const producers, each = 4, 100
	var work sync.WaitGroup
	for i := range producers {
		work.Go(func() {
			var answered sync.WaitGroup
			last := atomic.Int64{}
			last.Store(-1)
			for n := range each {
				answered.Add(1)
				now, wall := clock()
				leader.partition().Produce(partition.ProduceRequest{
					Records: batch(fmt.Sprint(i, "-", n)), Version: 11, Acks: partition.AcksAll, LeaderEpoch: kafka.NoLeaderEpoch,
					Timeout: time.Minute, Wall: wall, Now: now,
				}, func(r partition.ProduceResult) {
					if r.Code != kafka.None || int64(r.BaseOffset) <= last.Load() {
						t.Errorf("producer %d got %+v after %d", i, r, last.Load())
					}
					last.Store(int64(r.BaseOffset))
					answered.Done()
				})
			}
			answered.Wait()
		})
	}
	work.Wait()
	stop()
	background.Wait()
	if d := leader.partition().Describe(); d.HighWatermark != producers*each || d.Waiting != 0 {
		t.Errorf("at the end %+v", d)
	}
}

type counting struct{ n atomic.Int64 }

func (c *counting) PartitionReady(*partition.Watch) { c.n.Add(1) }
