package replication

import (
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Replica is a partition on this broker that follows a leader elsewhere.
type Replica interface {
	ID() kafka.TopicIDPartition
	// FetchPosition is what to ask for; ok is false when there is nothing to ask for now.
	FetchPosition() (pos replica.FetchPosition, ok bool)
	TakeAnswer(a replica.Answer) kafka.ErrorCode
	TakeDivergence(d replica.Diverged, now kafka.Elapsed)
	TakeOutOfRange(o replica.OutOfRange, now kafka.Elapsed) (moved bool)
	// Throttled tells whether it counts for Options.Throttle now.
	Throttled() bool
}

// Options are a fetcher's settings. A zero value gets the default.
type Options struct {
	Self              kafka.NodeID
	MaxWait           time.Duration // replica.fetch.wait.max.ms, 500 ms
	MinBytes          int32         // replica.fetch.min.bytes, 1
	MaxBytes          int32         // replica.fetch.response.max.bytes, 10 MiB
	PartitionMaxBytes int32         // replica.fetch.max.bytes, 1 MiB
	MinBackoff        time.Duration // 25 ms
	MaxBackoff        time.Duration // replica.fetch.backoff.ms, 1 s
	// Throttle bounds what throttled replicas take in; nil: nothing does.
	Throttle *Throttle
	// OnError is told of a partition's trouble, for a metric or a log line; may be nil.
	OnError func(p kafka.TopicIDPartition, code kafka.ErrorCode)
}

func (o *Options) fill() {
	o.MaxWait = orDuration(o.MaxWait, 500*time.Millisecond)
	o.MinBackoff = orDuration(o.MinBackoff, 25*time.Millisecond)
	o.MaxBackoff = orDuration(o.MaxBackoff, time.Second)
	if o.MinBytes == 0 {
		o.MinBytes = 1
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 10 << 20
	}
	if o.PartitionMaxBytes == 0 {
		o.PartitionMaxBytes = 1 << 20
	}
	if o.OnError == nil {
		o.OnError = func(kafka.TopicIDPartition, kafka.ErrorCode) {}
	}
}

func orDuration(d, byDefault time.Duration) time.Duration {
	if d == 0 {
		return byDefault
	}
	return d
}

// Fetcher asks one leader broker.
type Fetcher struct {
	o Options

	// Of the goroutine that calls Next and Handle.
	follows   map[kafka.TopicIDPartition]*follow
	changed   []*follow // whose position may have changed; each at most once
	spare     []*follow // memory for the next changed
	resting   []*follow // in trouble or throttled until follow.restUntil; few
	forgotten []kafka.TopicIDPartition
	sessionID int32
	epoch     int32 // of the next fetch; 0 opens
	inFlight  bool
	failures  int           // in a row, of whole fetches
	restUntil kafka.Elapsed // no fetch before
	held      int           // partitions that the session holds
	req       kmsg.FetchRequest
	topicAt   map[kafka.TopicID]int // in req.Topics

	// moveOn is offered a partition of the express lane after each answer, and tells whether the main lane took it.
	// nil in the main lane.
	moveOn func(Replica) bool
	// mayMoveOn tells whether it is worth to offer; also nil in the main lane.
	mayMoveOn func() bool

	mu     sync.Mutex // guards the rest
	inbox  []assignment
	parked bool   // a fetch is out: the inbox will not be looked at before it is answered
	wake   func() // called when the inbox gets something; may be nil
}

// follow is one partition.
type follow struct {
	r         Replica
	id        kafka.TopicIDPartition
	inSession bool                  // the leader's session holds it,
	asked     replica.FetchPosition // with this position
	queued    bool                  // in Fetcher.changed
	answered  bool                  // without error, at least once
	gone      bool                  // dropped, or replaced by another replica
	failures  int                   // in a row
	restUntil kafka.Elapsed         // not asked for before; 0: not resting
}

type assignment struct {
	id kafka.TopicIDPartition
	r  Replica // nil: dropped
}

// NewFetcher makes a fetcher without partitions. wake is called, from the goroutine that calls Assign or Drop, whenever
// Next may have become possible.
func NewFetcher(o Options, wake func()) *Fetcher {
	o.fill()
	return &Fetcher{o: o, follows: map[kafka.TopicIDPartition]*follow{}, topicAt: map[kafka.TopicID]int{}, wake: wake}
}

// Assign makes the fetcher fetch for a replica, or look at it again: after its leader epoch changed, say.
func (f *Fetcher) Assign(r Replica) { f.post(assignment{r.ID(), r}) }

// Drop makes it stop. An answer that is under way may still reach the replica, which knows whether it counts.
func (f *Fetcher) Drop(id kafka.TopicIDPartition) { f.post(assignment{id: id}) }

func (f *Fetcher) post(a assignment) {
	f.mu.Lock()
	f.inbox = append(f.inbox, a)
	f.mu.Unlock()
	if f.wake != nil {
		f.wake()
	}
}

// tryAssign is Assign if the next request can have the partition, and false if a fetch is out, which may wait at the
// leader for long.
func (f *Fetcher) tryAssign(r Replica) bool {
	f.mu.Lock()
	if f.parked {
		f.mu.Unlock()
		return false
	}
	f.inbox = append(f.inbox, assignment{r.ID(), r})
	f.mu.Unlock()
	if f.wake != nil {
		f.wake()
	}
	return true
}

// takes tells whether tryAssign may succeed.
func (f *Fetcher) takes() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.parked
}

// drain takes over what was assigned and dropped. From here on a fetch counts as out.
func (f *Fetcher) drain() {
	f.mu.Lock()
	inbox := f.inbox
	f.inbox, f.parked = nil, true
	f.mu.Unlock()
	for _, a := range inbox {
		p := f.follows[a.id]
		if p != nil && p.r != a.r {
			f.drop(p)
			p = nil
		}
		if a.r == nil {
			continue
		}
		if p == nil {
			p = &follow{r: a.r, id: a.id}
			f.follows[a.id] = p
		}
		p.failures, p.restUntil = 0, 0
		f.touch(p)
	}
}

func (f *Fetcher) unpark() {
	f.mu.Lock()
	f.parked = false
	f.mu.Unlock()
}

func (f *Fetcher) drop(p *follow) {
	p.gone = true
	delete(f.follows, p.id)
	if p.inSession {
		f.hold(p, false)
		f.forgotten = append(f.forgotten, p.id)
	}
}

// touch notes that a partition's position may have changed.
func (f *Fetcher) touch(p *follow) {
	if !p.queued {
		p.queued = true
		f.changed = append(f.changed, p)
	}
}

// rest leaves a partition in trouble alone for a while.
func (f *Fetcher) rest(p *follow, now kafka.Elapsed) {
	f.pause(p, now.Add(backoff(p.failures, f.o)))
	p.failures++
}

// pause takes a partition out of the session until some time.
func (f *Fetcher) pause(p *follow, until kafka.Elapsed) {
	if p.restUntil == 0 {
		f.resting = append(f.resting, p)
	}
	p.restUntil = until
	if p.inSession {
		f.hold(p, false)
		f.forgotten = append(f.forgotten, p.id)
	}
}

// wakeRested queues the partitions whose pause is over.
func (f *Fetcher) wakeRested(now kafka.Elapsed) {
	kept := f.resting[:0]
	for _, p := range f.resting {
		switch {
		case p.gone || p.restUntil == 0: // assigned anew
		case now >= p.restUntil:
			p.restUntil = 0
			f.touch(p)
		default:
			kept = append(kept, p)
		}
	}
	f.resting = kept
}

func backoff(failures int, o Options) time.Duration {
	return min(o.MinBackoff<<min(failures, 16), o.MaxBackoff)
}

// WakeAt is when to call Next again if it had nothing to ask, unless Assign comes before; ok is false for never.
func (f *Fetcher) WakeAt() (at kafka.Elapsed, ok bool) {
	if f.restUntil != 0 && len(f.follows) > 0 {
		return f.restUntil, true
	}
	for _, p := range f.resting {
		if !p.gone && (!ok || p.restUntil < at) {
			at, ok = p.restUntil, true
		}
	}
	return at, ok
}
