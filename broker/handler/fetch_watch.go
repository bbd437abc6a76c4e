package handler

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/broker/fetchsession"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
)

// maxSweep is how long a partition of a session can go without being looked at, whatever its watch says. A follower's time of
// its last fetch is noted with each look, so it is also at most a quarter of replica.lag.time.max.ms.
const maxSweep = 5 * time.Second

// sessionWatch is attached to a fetch session from its first incremental fetch on. It watches every partition of the session, from
// one fetch to the next, so that a fetch looks only at those of which there is something to tell: a fetch of thousands of idle
// partitions costs next to nothing. A partition is looked at when
//
//   - its watch has told something since the last look,
//   - the request names it, or its topic is another,
//   - the last look left something: records, an error, or what partition.FetchResult.Settled says,
//   - what concerns all partitions has changed (partition.Manager.Standing), or
//   - its turn has come: see maxSweep.
//
// Everything but the two callbacks belongs to the fetch under way, of which a session has one at most.
type sessionWatch struct {
	kind     partition.WatchKind
	replica  kafka.NodeID
	epoch    kafka.BrokerEpoch
	standing uint64
	parts    []*watchedPart
	turn     int           // index in parts of the one whose turn is next
	swept    kafka.Elapsed // until when turns were given
	wake     chan struct{} // has room for one: a signal is never lost and never blocks

	mu     sync.Mutex
	marked []*watchedPart // guarded by mu: those whose state is not clean, in the order in which they were marked
}

// watchedPart is one partition of a watched session.
type watchedPart struct {
	of     *sessionWatch
	asked  *fetchsession.Partition
	target *partition.Partition // where watch is, nil when it could not be found
	watch  partition.Watch
	index  int // in of.parts, -1 when the session has it no more
	at     int // in fetchCall.parts of the fetch under way, -1 when it is not there
	state  atomic.Uint32
}

// States of a watchedPart. All but clean are in sessionWatch.marked, or about to be.
const (
	clean  uint32 = iota
	marked        // to be looked at, with the next answer
	ready         // and now: it may end a wait
)

// PartitionReady is called under the partition's lock. See [partition.Watcher].
func (p *watchedPart) PartitionReady(*partition.Watch) {
	if p.state.Load() == ready {
		return // whoever made it so has signalled, and it was not looked at since
	}
	if p.state.Swap(ready) == clean {
		p.of.add(p)
	}
	select {
	case p.of.wake <- struct{}{}:
	default:
	}
}

// PartitionNews is called under the partition's lock. See [partition.NewsWatcher].
func (p *watchedPart) PartitionNews(*partition.Watch) { p.mark() }

func (p *watchedPart) mark() {
	if p.state.CompareAndSwap(clean, marked) {
		p.of.add(p)
	}
}

func (w *sessionWatch) add(p *watchedPart) {
	w.mu.Lock()
	w.marked = append(w.marked, p)
	w.mu.Unlock()
}

// take gives the partitions to look at. From here on, news mark them again.
func (w *sessionWatch) take() []*watchedPart {
	w.mu.Lock()
	taken := w.marked
	w.marked = nil
	w.mu.Unlock()
	kept := taken[:0]
	for _, p := range taken {
		p.state.Store(clean) // before the look: what comes after this is news
		if p.index >= 0 {
			kept = append(kept, p)
		}
	}
	return kept
}

// follow makes the watch be at the partition that the fetcher means now. It comes before the look.
func (p *watchedPart) follow(target *partition.Partition) {
	if p.target == target {
		return
	}
	p.watch.Stop()
	p.target = target
	if target != nil {
		p.watch = partition.Watch{Watcher: p, News: p, Kind: p.of.kind}
		target.Watch(&p.watch)
	}
}

func (w *sessionWatch) put(asked *fetchsession.Partition) {
	p, ok := asked.Attached.(*watchedPart)
	if !ok || p.of != w {
		p = &watchedPart{of: w, asked: asked, index: len(w.parts), at: -1}
		w.parts = append(w.parts, p)
		asked.Attached = p
	}
	p.mark()
}

func (w *sessionWatch) drop(asked *fetchsession.Partition) {
	p, ok := asked.Attached.(*watchedPart)
	if !ok || p.of != w || p.index < 0 {
		return
	}
	p.follow(nil)
	last := w.parts[len(w.parts)-1]
	w.parts[p.index], last.index = last, p.index
	w.parts = w.parts[:len(w.parts)-1]
	p.index = -1
}

func (w *sessionWatch) markAll() {
	for _, p := range w.parts {
		p.mark()
	}
}

// sweep gives turns, so that each partition has one in every period.
func (w *sessionWatch) sweep(now kafka.Elapsed, period time.Duration) {
	n := len(w.parts)
	if n == 0 || period <= 0 || now.Sub(w.swept) >= period {
		w.swept = now
		w.markAll()
		return
	}
	turns := int(int64(n) * int64(now.Sub(w.swept)) / int64(period))
	if turns == 0 {
		return
	}
	w.swept = now
	for range turns {
		w.turn = (w.turn + 1) % n
		w.parts[w.turn].mark()
	}
}

// stop ends all watches. No fetch of the session is under way, and none comes.
func (w *sessionWatch) stop() {
	for _, p := range w.parts {
		p.follow(nil)
	}
	w.parts = nil
}

// watchSession brings the watch of the fetch's session up to date with the request. It is made when there is none, or when the
// fetcher is not what it was.
func (f *fetchCall) watchSession() *sessionWatch {
	now := f.handler.Clock.Elapsed()
	w, _ := f.session.Attached().(*sessionWatch)
	if w != nil && (w.kind != f.watchKind() || w.replica != f.replica) {
		w.stop()
		w = nil
	}
	if w == nil {
		f.handler.sessions.detachIdle(now)
		w = &sessionWatch{kind: f.watchKind(), replica: f.replica, wake: make(chan struct{}, 1), swept: now}
		f.session.Attach(w)
		w.parts = make([]*watchedPart, 0, f.session.Len())
		for asked := range f.session.All() {
			w.put(asked)
		}
	}
	for _, asked := range f.session.Changed() {
		w.put(asked)
	}
	for _, asked := range f.session.Forgotten() {
		w.drop(asked)
	}
	if s := f.handler.Partitions.Standing(); s != w.standing || f.epoch != w.epoch {
		w.standing, w.epoch = s, f.epoch
		w.markAll()
	}
	w.sweep(now, min(maxSweep, f.handler.Settings().Replica.LagTimeMax/4))
	return w
}

// readNews looks at the partitions of a watched session that may have something new.
func (f *fetchCall) readNews() {
	var again []int
	for _, p := range f.watch.take() {
		if p.at < 0 {
			p.at = len(f.parts)
			f.parts = append(f.parts, fetchPart{asked: p.asked, watched: p})
		}
		again = append(again, p.at)
	}
	f.readAgain(again)
}

// toldAll ends the looks of this fetch: its answer is made of them. What is not settled will be looked at by the next one, last
// of all the partitions whose records this answer has, so that none starves when an answer has no room for all.
func (f *fetchCall) toldAll() {
	for _, served := range []bool{false, true} {
		for i := range f.parts {
			p := &f.parts[i]
			if p.watched == nil || (p.result.Slice.Len > 0) != served {
				continue
			}
			p.watched.at = -1
			if !p.result.Settled {
				p.watched.mark()
			}
		}
	}
}
