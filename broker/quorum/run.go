package quorum

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Limits of the loop.
const (
	// maxInbox bounds what waits for the loop. Messages beyond it are dropped, as the network may; submits are refused.
	maxInbox = 4096
	// maxBatch bounds what one round takes in before it writes, so that one fsync serves many proposals and none waits for long.
	maxBatch = 512
	// resignLimit bounds how long a leader that is told to stop waits until another leads.
	resignLimit = 300 * time.Millisecond
)

// Runner runs a [Node]: one goroutine with an inbox and a timer. All its methods may be called from any goroutine.
type Runner struct {
	node  *Node
	clock func() kafka.Elapsed
	inbox chan item

	status  atomic.Pointer[Status]
	movedAt atomic.Int64 // an Elapsed
	// The loop's alone:
	refreshedAt kafka.Elapsed
	observe     func(Fact)
	facts       []Fact // not told yet: see tell

	mu     sync.Mutex
	closed bool // guarded by mu; nothing enters the inbox any more
}

// item is one thing for the loop to take in; exactly one of message, done and act is set.
type item struct {
	message *Message
	cmd     any
	done    func(reply any, err error)
	act     func(n *Node, now kafka.Elapsed)
}

// OpenRunner opens the node of o. clock never jumps. Nothing happens until Run. Observe is called when [Runner.Status] shows what the fact tells.
func OpenRunner(o Options, clock func() kafka.Elapsed) (*Runner, error) {
	r := &Runner{clock: clock, inbox: make(chan item, maxInbox), observe: o.Observe}
	o.Observe = func(f Fact) { r.facts = append(r.facts, f) }
	var err error
	if r.node, err = Open(o, clock()); err != nil {
		return nil, err
	}
	r.refresh(clock())
	r.movedAt.Store(int64(clock()))
	return r, nil
}

// tell hands out what the node noticed, after the status was refreshed.
func (r *Runner) tell() {
	facts := r.facts
	r.facts = nil
	for _, f := range facts {
		if r.observe != nil {
			r.observe(f)
		}
	}
}

// Run is the loop. It ends with the context, after it tried to hand over its leadership, or with an error when the disk failed. It closes the node.
func (r *Runner) Run(ctx context.Context) error {
	defer r.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for r.node.Err() == nil {
		select {
		case <-ctx.Done():
			r.resign(timer)
			return nil
		case it := <-r.inbox:
			r.take(it)
		case <-timer.C:
		}
		r.round(timer)
	}
	return r.node.Err()
}

// round takes in what waits, lets timers fire, and does the work.
func (r *Runner) round(timer *time.Timer) {
	for range maxBatch {
		select {
		case it := <-r.inbox:
			r.take(it)
			continue
		default:
		}
		break
	}
	now := r.clock()
	r.movedAt.Store(int64(now))
	r.node.Tick(now)
	r.node.Process(now)
	now = r.clock()
	r.refresh(now)
	r.tell()
	timer.Reset(max(r.node.Deadline().Sub(now), 0))
}

func (r *Runner) take(it item) {
	now := r.clock()
	switch {
	case it.message != nil:
		r.node.Step(*it.message, now)
	case it.act != nil:
		it.act(r.node, now)
	default:
		r.node.Submit(it.cmd, now, it.done)
	}
}

// resign hands the leadership over before the loop ends, and stays until the successor has committed: what this leader decided last,
// the leaderships of its own broker among it, is then in the images of the others.
func (r *Runner) resign(timer *time.Timer) {
	if !r.node.Leading() {
		return
	}
	end, before := r.clock().Add(resignLimit), r.node.appliedTerm()
	r.node.Resign(r.clock())
	r.round(timer)
	if !r.node.handingOver() && r.node.Leading() {
		return // nobody to hand over to
	}
	for r.node.appliedTerm() == before && r.node.Err() == nil && r.clock() < end {
		select {
		case it := <-r.inbox:
			r.take(it)
		case <-timer.C:
		}
		r.round(timer)
	}
}

// refresh publishes the status when somebody else leads, and otherwise once a tick: it is not made for every message.
func (r *Runner) refresh(now kafka.Elapsed) {
	was := r.status.Load()
	if was != nil && was.Leader == r.node.Leader() && was.Leading == r.node.Leading() && was.Epoch == r.node.term && was.Stalled == r.node.Stalled() &&
		now < r.refreshedAt.Add(r.node.opts.Timing.Tick) {
		return
	}
	s := r.node.Status()
	r.status.Store(&s)
	r.refreshedAt = now
}

// Status describes the quorum as of at most one tick ago.
func (r *Runner) Status() Status { return *r.status.Load() }

// MovedAt is when the loop last came round: at most the election timeout ago, unless it is stuck, as on a disk that does not answer.
func (r *Runner) MovedAt() kafka.Elapsed { return kafka.Elapsed(r.movedAt.Load()) }

// Submit asks for the decision of cmd: see [Node.Submit]. done is called once, from the loop or from here; it must not block.
func (r *Runner) Submit(cmd any, done func(reply any, err error)) {
	if done == nil {
		done = func(any, error) {}
	}
	if err := r.put(item{cmd: cmd, done: done}); err != nil {
		done(nil, err)
	}
}

// Step takes in a message from another member. When too much waits it is dropped.
func (r *Runner) Step(m Message) { _ = r.put(item{message: &m}) }

// PeerDown says that the connection to a node was closed from its side: see [Node.PeerDown].
func (r *Runner) PeerDown(node kafka.NodeID, epoch kafka.BrokerEpoch) {
	_ = r.put(item{act: func(n *Node, now kafka.Elapsed) { n.PeerDown(node, epoch, now) }})
}

// HasVote tells whether a node votes, as of at most one tick ago.
func (r *Runner) HasVote(node kafka.NodeID) bool {
	for _, v := range r.status.Load().Voters {
		if v.Node == node {
			return true
		}
	}
	return false
}

func (r *Runner) put(it item) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrStopped
	}
	select {
	case r.inbox <- it:
		return nil
	default:
		return ErrBusy
	}
}

// close ends the node and refuses what still waits.
func (r *Runner) close() {
	_ = r.node.Close()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	for {
		select {
		case it := <-r.inbox:
			if it.done != nil {
				it.done(nil, ErrStopped)
			}
		default:
			s := r.node.Status()
			s.Leader, s.Leading = kafka.NoNode, false
			r.status.Store(&s)
			r.tell()
			return
		}
	}
}
