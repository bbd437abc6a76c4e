package replication

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// slowLeader answers each fetch after its wait, or when the context ends.
type slowLeader struct {
	fetches  atomic.Int32
	released atomic.Int32
	broken   atomic.Bool
}

func (l *slowLeader) Do(ctx context.Context, req kmsg.Request) (kmsg.Response, func(), error) {
	l.fetches.Add(1)
	if l.broken.Load() {
		return nil, nil, errors.New("refused")
	}
	select {
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-time.After(time.Duration(req.(*kmsg.FetchRequest).MaxWaitMillis) * time.Millisecond):
		return answer(9), func() { l.released.Add(1) }, nil
	}
}

func TestRunnerFetchesUntilItIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		clock := func() (kafka.Elapsed, kafka.Timestamp) { return kafka.Elapsed(time.Since(begin)), 0 }
		leader := &slowLeader{}
		r := NewRunner(Options{}, func(kafka.NodeID) Client { return leader }, clock, func() kafka.BrokerEpoch { return 1 })
		r.Set.Follow(newFake(0), 1)
		time.Sleep(2100 * time.Millisecond)
		synctest.Wait()
		if n := leader.fetches.Load(); n != 5 {
			t.Errorf("%d fetches in 2.1 s of waits of 0.5 s", n)
		}
		if leader.released.Load() != 4 {
			t.Errorf("%d of 4 responses were released", leader.released.Load())
		}
		leader.broken.Store(true)
		time.Sleep(10 * time.Second)
		if n := leader.fetches.Load() - 5; n < 10 || n > 16 {
			t.Errorf("%d fetches in 10 s at a broken leader", n)
		}
		leader.broken.Store(false)
		time.Sleep(2 * time.Second)
		r.Close() // a fetch is out
		n := leader.fetches.Load()
		r.Set.Follow(newFake(1), 2)
		time.Sleep(time.Second)
		if leader.fetches.Load() != n {
			t.Error("fetched after Close")
		}
	})
}

// TestAFetcherThatBeginsWhileTheRunnerCloses has ended when Close returns, or never began: images come until the very end.
func TestAFetcherThatBeginsWhileTheRunnerCloses(t *testing.T) {
	for range 200 {
		began := time.Now()
		clock := func() (kafka.Elapsed, kafka.Timestamp) { return kafka.Elapsed(time.Since(began)), 0 }
		var open atomic.Int32
		connect := func(kafka.NodeID) Client { return &countingClient{open: &open} }
		r := NewRunner(Options{}, connect, clock, func() kafka.BrokerEpoch { return 1 })
		followed := make(chan struct{})
		go func() {
			defer close(followed)
			for n := range int32(5) {
				r.Set.Follow(newFake(n), kafka.NodeID(n+1))
			}
		}()
		r.Close()
		if n := open.Load(); n != 0 {
			t.Fatalf("%d fetches are out after Close", n)
		}
		<-followed
		if n := open.Load(); n != 0 {
			t.Fatalf("%d fetches began after Close", n)
		}
	}
}

// countingClient counts the fetches that are out, which only the end of their context ends.
type countingClient struct{ open *atomic.Int32 }

func (c *countingClient) Do(ctx context.Context, _ kmsg.Request) (kmsg.Response, func(), error) {
	c.open.Add(1)
	defer c.open.Add(-1)
	<-ctx.Done()
	return nil, nil, ctx.Err()
}
