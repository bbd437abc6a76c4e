package metactl

import (
	"encoding/binary"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/tidwall/btree"
)

// soft is what the leader knows beside the image. It is made new with each leadership.
type soft struct {
	since    kafka.Elapsed // when the leadership began
	contacts map[kafka.NodeID]contact
	// Partitions of the committed image without a leader, and those led by another than the preferred replica, by that
	// replica. Both follow the deltas.
	leaderless partitionSet
	misled     map[kafka.NodeID]*partitionSet
	moving     partitionSet // partitions of the committed image whose replicas move
	recoveries map[kafka.TopicIDPartition]*recovery
	ticked     kafka.Elapsed // when Tick was last called
	moved      kafka.Elapsed // when leaderships were last moved back
	checked    kafka.Elapsed // when the last check of all leaderships began
	cursor     cursors
}

// contact is when a registration was last heard of.
type contact struct {
	epoch    kafka.BrokerEpoch
	last     kafka.Elapsed
	heard    bool          // by this leader; else last is when the leadership began
	unfenced kafka.Elapsed // when it was last unfenced, as far as this leader knows
	// stopAt is the version of the image from which on a stopping broker leads nothing, as far as this leader knows; 0: none.
	stopAt uint64
}

// cursors are where the bounded walks of Tick go on.
type cursors struct {
	leaderless, moving string
	misled             map[kafka.NodeID]string
}

func newSoft(image *metadata.Image, now kafka.Elapsed) soft {
	s := soft{
		since: now, ticked: now, checked: now,
		contacts:   map[kafka.NodeID]contact{},
		misled:     map[kafka.NodeID]*partitionSet{},
		recoveries: map[kafka.TopicIDPartition]*recovery{},
		cursor:     cursors{misled: map[kafka.NodeID]string{}},
	}
	for b := range image.Brokers() {
		k := contact{epoch: b.Epoch, last: now, unfenced: now}
		if b.ControlledShutdown {
			k.stopAt = image.Version()
		}
		s.contacts[b.ID] = k
	}
	for t := range image.Topics() {
		for n, p := range t.Partitions() {
			s.place(kafka.TopicIDPartition{TopicID: t.ID, Partition: n}, nil, p)
		}
	}
	return s
}

// note keeps the sets of partitions current with the committed image.
func (s *soft) note(d metadata.Delta) {
	for _, p := range d.Partitions {
		s.place(p.TopicIDPartition, p.Before, p.After)
	}
	for _, b := range d.Brokers {
		k, ok := s.contacts[b.ID]
		switch {
		case b.After == nil:
			delete(s.contacts, b.ID)
		case ok && k.epoch == b.After.Epoch && k.stopAt == 0 && b.After.ControlledShutdown:
			k.stopAt = d.To // the entry moves its leaderships too
			s.contacts[b.ID] = k
		}
	}
}

func (s *soft) place(tp kafka.TopicIDPartition, before, after *metadata.Partition) {
	if before != nil && before.Leader == kafka.NoNode {
		s.leaderless.remove(tp)
	}
	if before != nil && before.Moving() {
		s.moving.remove(tp)
	}
	if after != nil && after.Moving() {
		s.moving.insert(tp)
	}
	if before != nil && before.Leader != before.Replicas[0] {
		s.misled[before.Replicas[0]].remove(tp)
	}
	if after != nil && after.Leader == kafka.NoNode {
		s.leaderless.insert(tp)
	} else {
		delete(s.recoveries, tp)
	}
	if after != nil && after.Leader != after.Replicas[0] {
		n := after.Replicas[0]
		if s.misled[n] == nil {
			s.misled[n] = &partitionSet{}
		}
		s.misled[n].insert(tp)
	}
}

// partitionSet is a set in order of topic id and partition.
type partitionSet struct{ keys btree.Set[string] }

func (s *partitionSet) insert(tp kafka.TopicIDPartition) { s.keys.Insert(setKey(tp)) }

func (s *partitionSet) remove(tp kafka.TopicIDPartition) { s.keys.Delete(setKey(tp)) }

func (s *partitionSet) len() int { return s.keys.Len() }

// walk visits up to limit members after a key and gives the key for the next walk, "" when it came to the end. visit tells
// whether to go on.
func (s *partitionSet) walk(after string, limit int, visit func(kafka.TopicIDPartition) bool) (next string) {
	last, ended := after, true
	s.keys.Ascend(after, func(key string) bool {
		if key == after {
			return true
		}
		if limit == 0 {
			ended = false
			return false
		}
		limit--
		last = key
		ended = visit(partitionOfKey(key))
		return ended
	})
	if ended {
		return ""
	}
	return last
}

func setKey(tp kafka.TopicIDPartition) string {
	var b [20]byte
	copy(b[:], tp.TopicID[:])
	binary.BigEndian.PutUint32(b[16:], uint32(tp.Partition))
	return string(b[:])
}

func partitionOfKey(key string) kafka.TopicIDPartition {
	var tp kafka.TopicIDPartition
	copy(tp.TopicID[:], key)
	tp.Partition = int32(binary.BigEndian.Uint32([]byte(key[16:])))
	return tp
}
