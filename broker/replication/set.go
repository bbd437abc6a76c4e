package replication

import (
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Set is the fetchers of a broker, one per leader broker that it follows. Its methods may be called from any goroutine.
//
// With two lanes there is an express lane beside it: a fetcher over a connection of its own, for partitions that come
// while the main lane's fetch waits at the leader for data, up to MaxWait. After an election the watermark stands still
// until the followers have fetched, so waiting for that wait would be felt. A partition moves on to the main lane when
// that is free.
type Set struct {
	o     Options
	lanes int
	// begin is called for each new fetcher, with the lock held; what it returns is the fetcher's wake function.
	begin func(leader kafka.NodeID, f *Fetcher) (wake func())

	mu       sync.Mutex // guards the rest; taken before a fetcher's
	fetchers map[kafka.NodeID]*Fetcher
	express  map[kafka.NodeID]*Fetcher
	places   map[kafka.TopicIDPartition]place
}

// place is where a partition is fetched.
type place struct {
	leader kafka.NodeID
	main   bool // not in the express lane
}

// expressWait is how long an express fetch waits for data.
const expressWait = 50 * time.Millisecond

// NewSet makes an empty set with one lane.
func NewSet(o Options, begin func(leader kafka.NodeID, f *Fetcher) (wake func())) *Set {
	return newSet(o, 1, begin)
}

func newSet(o Options, lanes int, begin func(leader kafka.NodeID, f *Fetcher) (wake func())) *Set {
	return &Set{
		o: o, lanes: lanes, begin: begin, fetchers: map[kafka.NodeID]*Fetcher{}, express: map[kafka.NodeID]*Fetcher{},
		places: map[kafka.TopicIDPartition]place{},
	}
}

// Follow makes a replica follow a leader from now on; NoNode ends it. Called for each change of role, leader or leader
// epoch, in order.
func (s *Set) Follow(r Replica, leader kafka.NodeID) {
	id := r.ID()
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.places[id]
	if ok && at.leader != leader {
		delete(s.places, id)
		s.laneOf(at).Drop(id)
		ok = false
	}
	if leader == kafka.NoNode {
		return
	}
	f := s.fetchers[leader]
	if f == nil {
		f = NewFetcher(s.o, nil)
		s.fetchers[leader] = f
		f.wake = s.begin(leader, f)
	}
	switch {
	case ok:
		s.laneOf(at).Assign(r)
	case s.lanes == 1:
		f.Assign(r)
		s.places[id] = place{leader, true}
	case f.tryAssign(r):
		s.places[id] = place{leader, true}
	default:
		s.places[id] = place{leader, false}
		s.expressTo(leader).Assign(r)
	}
}

func (s *Set) laneOf(p place) *Fetcher {
	if p.main {
		return s.fetchers[p.leader]
	}
	return s.express[p.leader]
}

// expressTo is the express lane to a leader.
func (s *Set) expressTo(leader kafka.NodeID) *Fetcher {
	x := s.express[leader]
	if x == nil {
		o := s.o
		o.MaxWait = expressWait
		x = NewFetcher(o, nil)
		x.mayMoveOn = func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.fetchers[leader].takes()
		}
		x.moveOn = func(r Replica) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			id := r.ID()
			if s.places[id] != (place{leader, false}) {
				return false // dropped meanwhile, as this lane will hear
			}
			if !s.fetchers[leader].tryAssign(r) {
				return false
			}
			s.places[id] = place{leader, true}
			return true
		}
		s.express[leader] = x
		x.wake = s.begin(leader, x)
	}
	return x
}

// Fetcher is the one for a leader, nil if nothing was ever followed there.
func (s *Set) Fetcher(leader kafka.NodeID) *Fetcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetchers[leader]
}
