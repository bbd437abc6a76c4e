package partition

// WatchKind says which end of the readable log a watch waits for.
type WatchKind uint8

const (
	WatchLogEnd        WatchKind = iota // a follower: the log end
	WatchHighWatermark                  // read_uncommitted
	WatchLastStable                     // read_committed
	numWatchKinds
)

// Watcher is told that a watched partition has something new, or that its leadership changed or it went away. It is
// called with the partition's mutex held, so it must be short and must not call the partition: mark, and signal.
type Watcher interface {
	PartitionReady(*Watch)
}

// NewsWatcher is told of what is no reason to end a wait, but belongs into the next answer: another high watermark or log
// start, or that a follower left or joined the ISR. It is called as Watcher is.
type NewsWatcher interface {
	PartitionNews(*Watch)
}

// Watch is one watcher's interest in one partition: a node of the partition's list, so that watching costs no
// allocation and ending it no search. It lasts until Stop, over any number of notifications. The owner fills the
// exported fields before Partition.Watch and leaves them alone until Stop.
//
// To wait without losing a wake-up: Watch, then Fetch, then wait. A fetch session keeps its watches from one fetch to
// the next and thus learns which of thousands of partitions are worth a look.
type Watch struct {
	Watcher Watcher
	News    NewsWatcher // nil: not of interest
	Kind    WatchKind
	Index   int // the watcher's own, untouched here

	partition  *Partition // non-nil while watching
	prev, next *Watch
}

// watchList is the head of the doubly linked list of one kind, guarded by the partition's mutex.
type watchList struct{ first *Watch }

func (l *watchList) add(w *Watch) {
	w.prev, w.next = nil, l.first
	if l.first != nil {
		l.first.prev = w
	}
	l.first = w
}

func (l *watchList) remove(w *Watch) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
}

func (l *watchList) notify() {
	for w := l.first; w != nil; w = w.next {
		w.Watcher.PartitionReady(w)
	}
}

// tellNews tells the watchers of every kind but one, which are told in another way. numWatchKinds: of every kind.
func (p *Partition) tellNews(but WatchKind) {
	for kind := range p.watches {
		if WatchKind(kind) == but {
			continue
		}
		for w := p.watches[kind].first; w != nil; w = w.next {
			if w.News != nil {
				w.News.PartitionNews(w)
			}
		}
	}
}

// Watch adds w. A watch that is already at a partition must be stopped first.
func (p *Partition) Watch(w *Watch) {
	p.mu.Lock()
	w.partition = p
	p.watches[w.Kind].add(w)
	p.mu.Unlock()
}

// Partition is where w watches, nil when stopped.
func (w *Watch) Partition() *Partition { return w.partition }

// Stop ends the watch. After it returned, the watcher is not called any more for w. Stopping twice is harmless.
// Watch and Stop of one Watch must not run at the same time.
func (w *Watch) Stop() {
	p := w.partition
	if p == nil {
		return
	}
	p.mu.Lock()
	p.watches[w.Kind].remove(w)
	p.mu.Unlock()
	w.partition = nil
}
