package replication

import (
	"sync"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Set is the fetchers of a broker, one per leader broker that it follows. Its methods may be called from any goroutine.
type Set struct {
	o Options
	// begin is called for each new fetcher, with the lock held; what it returns is the fetcher's wake function.
	begin func(leader kafka.NodeID, f *Fetcher) (wake func())

	mu       sync.Mutex
	fetchers map[kafka.NodeID]*Fetcher
	leaders  map[kafka.TopicIDPartition]kafka.NodeID
}

// NewSet makes an empty set.
func NewSet(o Options, begin func(leader kafka.NodeID, f *Fetcher) (wake func())) *Set {
	return &Set{o: o, begin: begin, fetchers: map[kafka.NodeID]*Fetcher{}, leaders: map[kafka.TopicIDPartition]kafka.NodeID{}}
}

// Follow makes a replica follow a leader from now on; NoNode ends it. Called for each change of role, leader or leader
// epoch, in order.
func (s *Set) Follow(r Replica, leader kafka.NodeID) {
	id := r.ID()
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.leaders[id]; ok && old != leader {
		delete(s.leaders, id)
		s.fetchers[old].Drop(id)
	}
	if leader == kafka.NoNode {
		return
	}
	s.leaders[id] = leader
	f := s.fetchers[leader]
	if f == nil {
		f = NewFetcher(s.o, nil)
		s.fetchers[leader] = f
		f.wake = s.begin(leader, f)
	}
	f.Assign(r)
}

// Fetcher is the one for a leader, nil if nothing was ever followed there.
func (s *Set) Fetcher(leader kafka.NodeID) *Fetcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetchers[leader]
}
