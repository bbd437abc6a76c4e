package balance

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Broker is a candidate for new replicas.
type Broker struct {
	ID   kafka.NodeID
	Rack string // "" is a rack like another
	// Fenced brokers get followers only, and only when there are too few others.
	Fenced bool
}

// Placement asks for the replicas of new partitions of one topic.
type Placement struct {
	Brokers    []Broker
	Partitions int
	Replicas   int
	// Existing are the replicas of the topic's partitions so far, for a topic that grows.
	Existing [][]kafka.NodeID
	// Start turns the order of brokers that are equal in all else, so that many small topics do not pile up on the first.
	Start uint64
}

// candidate is a broker under placement.
type candidate struct {
	Broker
	rack              int // index into the table of racks
	leaders, replicas int // of this topic
	turn              int // place in the turned order
}

// Place gives each new partition its replicas, preferred leader first. It tells false when there are too few brokers, or
// none that is not fenced.
//
// Goals in order, for each partition in turn, greedily:
//
//  1. no broker twice, and a broker that is not fenced first
//  2. replicas on as many racks as there are, as evenly as can be
//  3. leaders of the topic even over brokers; then its replicas even; then the first followers of one leader spread over
//     all others, so that its leaderships spread when it dies
//  4. from a start that the caller turns at random, so that topics spread over the cluster
//
// Example: brokers 0 and 1 on rack a, 2 and 3 on rack b, two replicas, four partitions, Start 0:
//
//	[0 2] [1 3] [2 0] [3 1]
func Place(p Placement) ([][]kafka.NodeID, bool) {
	if p.Replicas < 1 || p.Replicas > len(p.Brokers) || !slices.ContainsFunc(p.Brokers, func(b Broker) bool { return !b.Fenced }) {
		return nil, false
	}
	s := newPlacer(p)
	out := make([][]kafka.NodeID, p.Partitions)
	for i := range out {
		out[i] = s.partition(p.Replicas)
	}
	return out, true
}

type placer struct {
	brokers   []candidate // by id
	index     map[kafka.NodeID]int
	followers [][]int // followers[leader][broker]: how often the broker is the first follower
	onRack    []int   // of the partition in hand, by rack
	chosen    []bool  // of the partition in hand, by broker
}

func newPlacer(p Placement) *placer {
	s := &placer{index: map[kafka.NodeID]int{}}
	for _, b := range p.Brokers {
		s.brokers = append(s.brokers, candidate{Broker: b})
	}
	slices.SortFunc(s.brokers, func(a, b candidate) int { return cmp.Compare(a.ID, b.ID) })
	racks := map[string]int{}
	n := len(s.brokers)
	for i := range s.brokers {
		b := &s.brokers[i]
		r, ok := racks[b.Rack]
		if !ok {
			r = len(racks)
			racks[b.Rack] = r
		}
		b.rack = r
		b.turn = (i + n - int(p.Start%uint64(n))) % n
		s.index[b.ID] = i
		s.followers = append(s.followers, make([]int, n))
	}
	s.onRack, s.chosen = make([]int, len(racks)), make([]bool, n)
	for _, replicas := range p.Existing {
		s.count(replicas)
	}
	return s
}

func (s *placer) count(replicas []kafka.NodeID) {
	for k, id := range replicas {
		i, ok := s.index[id]
		if !ok {
			continue
		}
		s.brokers[i].replicas++
		if k == 0 {
			s.brokers[i].leaders++
			if len(replicas) > 1 {
				if j, ok := s.index[replicas[1]]; ok {
					s.followers[i][j]++
				}
			}
		}
	}
}

func (s *placer) partition(replicas int) []kafka.NodeID {
	clear(s.onRack)
	clear(s.chosen)
	out := make([]kafka.NodeID, 0, replicas)
	leader := -1
	for k := range replicas {
		best := -1
		for i := range s.brokers {
			if s.chosen[i] || k == 0 && s.brokers[i].Fenced {
				continue
			}
			if best < 0 || s.compare(i, best, leader, k) < 0 {
				best = i
			}
		}
		s.chosen[best] = true
		s.onRack[s.brokers[best].rack]++
		out = append(out, s.brokers[best].ID)
		if k == 0 {
			leader = best
		}
	}
	s.count(out)
	return out
}

// compare orders two brokers for replica k of a partition.
func (s *placer) compare(i, j, leader, k int) int {
	a, b := &s.brokers[i], &s.brokers[j]
	if k == 0 {
		return cmp.Or(
			cmp.Compare(a.leaders, b.leaders), cmp.Compare(a.replicas, b.replicas), cmp.Compare(a.turn, b.turn))
	}
	pairs := 0
	if k == 1 {
		pairs = cmp.Compare(s.followers[leader][i], s.followers[leader][j])
	}
	return cmp.Or(
		boolean(a.Fenced)-boolean(b.Fenced),
		cmp.Compare(s.onRack[a.rack], s.onRack[b.rack]),
		cmp.Compare(a.replicas, b.replicas), pairs,
		// From the leader on, as in a ring.
		cmp.Compare(s.after(leader, a.turn), s.after(leader, b.turn)))
}

func (s *placer) after(leader, turn int) int {
	n := len(s.brokers)
	return (turn - s.brokers[leader].turn + n) % n
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
