package coordinator

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/broker/group"
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Groups are the group shards of this broker. Its methods may be called from any goroutine.
type Groups struct {
	o    Options
	conf atomic.Pointer[Config]

	// overflow takes over shards whose mailbox keeps one caller busy; nil (no [Groups.Run]) lets the caller go on.
	overflow atomic.Pointer[chan *shard]
	// poke wakes the loops of run.go: a deadline came nearer, or there is something to load. nil: no loops.
	poke atomic.Pointer[func()]

	fenced atomic.Bool

	mu     sync.Mutex
	shards map[int32]*shard
	// The mutex guards the map. It is not held while a shard works or a callback runs.
}

// NewGroups hosts no shard yet.
func NewGroups(o Options) *Groups {
	g := &Groups{o: o, shards: map[int32]*shard{}}
	g.conf.Store(&o.Config)
	return g
}

// Configure changes the settings of running shards.
func (g *Groups) Configure(c Config) {
	g.conf.Store(&c)
	for _, s := range g.sorted() {
		s.post(event{kind: configured})
	}
}

// Elected tells that this broker leads the partition of __consumer_offsets in the epoch, and log is it. The call is
// idempotent; an epoch older than the one that is hosted is ignored. A newer one loads again: another broker may have
// led in between. It must be called after log accepts appends in that epoch.
func (g *Groups) Elected(partition int32, epoch kafka.LeaderEpoch, log Log) {
	if old := g.shard(partition); old != nil && old.epoch >= epoch {
		return
	}
	s := newShard(g, partition, epoch, log)
	g.mu.Lock()
	old := g.shards[partition]
	if old != nil && old.epoch >= epoch { // another call was faster
		g.mu.Unlock()
		return
	}
	g.shards[partition] = s
	g.mu.Unlock()
	if old != nil {
		old.post(event{kind: resigned})
	}
	if s.nothingToRead() && s.claimLoad(g.o.Clock.Elapsed()) {
		s.loadStep(new([]byte)) // no need to wait for a loader
	}
	g.wake()
}

// Resigned tells that this broker does not lead the partition any more, as of the epoch (of the next leader, or of its
// own last leadership): whoever waits is answered NOT_COORDINATOR, and so is everybody from now on. A shard of a newer
// epoch stays.
func (g *Groups) Resigned(partition int32, epoch kafka.LeaderEpoch) {
	g.mu.Lock()
	s := g.shards[partition]
	if s == nil || s.epoch > epoch {
		g.mu.Unlock()
		return
	}
	delete(g.shards, partition)
	g.mu.Unlock()
	s.post(event{kind: resigned})
}

// Fence makes this broker coordinate nothing: it has lost the quorum, and another broker may lead what it led. Whoever
// waits is answered NOT_COORDINATOR. Nothing is loaded either.
func (g *Groups) Fence() {
	if g.fenced.Swap(true) {
		return
	}
	for _, s := range g.sorted() {
		s.post(event{kind: fenced})
	}
}

// Unfence ends [Groups.Fence]: the shards are loaded again, but for those that Resigned has taken meanwhile.
func (g *Groups) Unfence() {
	g.fenced.Store(false)
	g.wake()
}

// Close resigns from all shards.
func (g *Groups) Close() {
	for _, s := range g.sorted() {
		g.Resigned(s.partition, s.epoch)
	}
}

// TopicsChanged tells that topics were deleted: their offsets go.
func (g *Groups) TopicsChanged() {
	for _, s := range g.sorted() {
		s.dropTopics()
	}
}

// Tick fires deadlines that have passed.
func (g *Groups) Tick() {
	now := g.o.Clock.Elapsed()
	for _, s := range g.sorted() {
		if s.wakeAt() <= now {
			s.post(event{kind: ticked})
		}
	}
}

// NextDeadline is when [Groups.Tick], or, for a load, [Groups.LoadStep], should be called at the latest.
func (g *Groups) NextDeadline() (kafka.Elapsed, bool) {
	tick, load := g.deadlines()
	next := min(tick, load)
	return next, next != never
}

func (g *Groups) deadlines() (tick, load kafka.Elapsed) {
	tick, load = never, never
	for _, s := range g.sorted() {
		tick, load = min(tick, s.wakeAt()), min(load, s.loadAt())
	}
	return tick, load
}

// LoadStep does one bounded step of loading one shard: one read of at most LoadBufferBytes, or one look at the high
// watermark. buf is the reader's memory, made when it is needed and kept between steps. False: nothing to do before
// NextDeadline. Several goroutines may call it, each with its own buf; each works on another shard.
func (g *Groups) LoadStep(buf *[]byte) bool {
	now := g.o.Clock.Elapsed()
	for _, s := range g.sorted() {
		if s.claimLoad(now) {
			s.loadStep(buf)
			return true
		}
	}
	return false
}

// serving is the shard that decides about the partition's groups, nil if that is not for this broker.
func (g *Groups) serving(partition int32) *shard {
	if g.fenced.Load() {
		return nil
	}
	return g.shard(partition)
}

func (g *Groups) shard(partition int32) *shard {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shards[partition]
}

// sorted lists the shards by partition.
func (g *Groups) sorted() []*shard {
	g.mu.Lock()
	all := make([]*shard, 0, len(g.shards))
	for _, s := range g.shards {
		all = append(all, s)
	}
	g.mu.Unlock()
	slices.SortFunc(all, func(a, b *shard) int { return cmp.Compare(a.partition, b.partition) })
	return all
}

func (g *Groups) wake() {
	if poke := g.poke.Load(); poke != nil {
		(*poke)()
	}
}

func (g *Groups) now() group.Time {
	return group.Time{Elapsed: g.o.Clock.Elapsed(), Wall: g.o.Clock.Wall()}
}

// never is a deadline that does not come.
const never = kafka.Elapsed(1<<63 - 1)
