package replication

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Client is a connection to another broker; package peer has it.
type Client interface {
	Do(ctx context.Context, req kmsg.Request) (resp kmsg.Response, release func(), err error)
}

// Runner drives a [Set] over connections: a goroutine and a connection for each of the two lanes to a leader
// broker.
type Runner struct {
	Set *Set

	// connect gives a connection to a broker for fetching, a new one each time. The connection finds out by itself when the
	// broker's address changes.
	connect func(kafka.NodeID) Client
	clock   func() (kafka.Elapsed, kafka.Timestamp)
	epoch   func() kafka.BrokerEpoch

	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup
}

// NewRunner makes a set whose fetchers run until Close. epoch is that of this broker's registration.
func NewRunner(o Options, connect func(kafka.NodeID) Client, clock func() (kafka.Elapsed, kafka.Timestamp), epoch func() kafka.BrokerEpoch) *Runner {
	r := &Runner{connect: connect, clock: clock, epoch: epoch}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.Set = newSet(o, 2, r.begin)
	return r
}

// Close stops fetching and waits until no replica is touched any more.
func (r *Runner) Close() {
	r.Set.mu.Lock() // a fetcher has begun before this, and is waited for, or never begins
	r.stop()
	r.Set.mu.Unlock()
	r.done.Wait()
}

// begin starts a fetcher's goroutine unless the runner is closed. The set's mutex is held.
func (r *Runner) begin(leader kafka.NodeID, f *Fetcher) func() {
	signal := make(chan struct{}, 1)
	if r.ctx.Err() == nil {
		r.done.Add(1)
		go func() {
			defer r.done.Done()
			r.run(f, r.connect(leader), signal)
		}()
	}
	return func() {
		select {
		case signal <- struct{}{}:
		default:
		}
	}
}

// run fetches until the runner stops.
func (r *Runner) run(f *Fetcher, c Client, signal <-chan struct{}) {
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	last := kafka.Elapsed(-pace)
	for r.ctx.Err() == nil {
		now, _ := r.clock()
		if early := pace - now.Sub(last); early > 0 {
			time.Sleep(early)
			now, _ = r.clock()
		}
		if req, ok := f.Next(now, r.epoch()); ok {
			last = now
			r.fetch(f, c, req)
			continue
		}
		wait := time.Hour
		if at, ok := f.WakeAt(); ok {
			wait = max(at.Sub(now), time.Millisecond)
		}
		pause.Reset(wait)
		select {
		case <-r.ctx.Done():
		case <-signal:
		case <-pause.C:
		}
	}
}

var errWrongResponse = errors.New("response is not one to Fetch")

// pace is the least time between two fetches of a lane. Under load it lets more partitions go together in one round trip, for
// a fraction of a millisecond in the time to acknowledge; an idle follower's fetch waits at the leader and loses none.
const pace = time.Millisecond

// fetch does one round trip. The answer must come within the leader's wait and a generous time for the transfer.
func (r *Runner) fetch(f *Fetcher, c Client, req *kmsg.FetchRequest) {
	ctx, cancel := context.WithTimeout(r.ctx, time.Duration(req.MaxWaitMillis)*time.Millisecond+answerWithin)
	resp, release, err := c.Do(ctx, req)
	cancel()
	fetched, ok := resp.(*kmsg.FetchResponse)
	if err == nil && !ok {
		err = errWrongResponse
	}
	now, wall := r.clock()
	f.Handle(fetched, err, now, wall)
	if release != nil {
		release()
	}
}

// answerWithin bounds the silence of a leader beyond the wait it was asked for; replica.socket.timeout.ms.
const answerWithin = 30 * time.Second
