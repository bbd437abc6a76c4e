package producerstate

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// slot finds the producer's slot or makes one, forgetting those idle for the longest if there are too many.
func (s *State) slot(id kafka.ProducerID) int32 {
	if i, ok := s.byID[id]; ok {
		return i
	}
	for len(s.byID) >= s.maxProducers && s.idleOldest != none {
		s.forget(s.idleOldest)
	}
	i := s.free
	if i != none {
		s.free = s.slots[i].next
		s.slots[i] = newProducer(id)
	} else {
		i = int32(len(s.slots))
		s.slots = append(s.slots, newProducer(id))
	}
	if s.byID == nil {
		s.byID = make(map[kafka.ProducerID]int32, 1)
	}
	s.byID[id] = i
	s.linkNewest(i)
	return i
}

// relink puts the producer where its transaction and its last append, which is the newest of all, say.
func (s *State) relink(i int32) {
	s.unlink(i)
	if s.slots[i].txnFirst == kafka.NoOffset {
		s.linkNewest(i)
	}
}

func (s *State) linkNewest(i int32) {
	p := &s.slots[i]
	p.prev, p.next = s.idleNewest, none
	if s.idleNewest != none {
		s.slots[s.idleNewest].next = i
	} else {
		s.idleOldest = i
	}
	s.idleNewest = i
}

// unlink takes the producer out of the idle list if it is there.
func (s *State) unlink(i int32) {
	p := &s.slots[i]
	if p.prev != none {
		s.slots[p.prev].next = p.next
	} else if s.idleOldest == i {
		s.idleOldest = p.next
	}
	if p.next != none {
		s.slots[p.next].prev = p.prev
	} else if s.idleNewest == i {
		s.idleNewest = p.prev
	}
	p.prev, p.next = none, none
}

func (s *State) forget(i int32) {
	s.unlink(i)
	delete(s.byID, s.slots[i].id)
	s.slots[i] = newProducer(kafka.NoProducerID)
	s.slots[i].next = s.free
	s.free = i
	if len(s.byID) == 0 { // an idle partition holds no memory
		s.slots, s.byID, s.free = nil, nil, none
	}
}

// Expire forgets producers without an open transaction to which nothing was appended in (now - retention, now]
// (producer.id.expiration.ms), and returns how many. Cost: the number forgotten.
//
// The list is in the order of appends, so a wall clock that jumped may let a producer stay longer, never shorter.
func (s *State) Expire(now kafka.Timestamp, retention time.Duration) int {
	n := 0
	for s.idleOldest != none && now-s.slots[s.idleOldest].appended >= kafka.Timestamp(retention.Milliseconds()) {
		s.forget(s.idleOldest)
		n++
	}
	return n
}
