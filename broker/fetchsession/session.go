package fetchsession

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Versions of the fetch request that decide how it is read.
const (
	versionSessions = 7
	versionTopicIDs = 13
)

// Epochs that open and end sessions.
const (
	epochInitial = 0
	epochFinal   = -1
)

// nextEpoch is the epoch of the fetch after one with epoch e: it never becomes 0 again.
func nextEpoch(e int32) int32 {
	if e == math.MaxInt32 {
		return 1
	}
	return e + 1
}

// key finds a partition: by topic id in requests that have ids, else by name.
type key struct {
	id        kafka.TopicID
	name      string
	partition int32
}

// node is a partition in its session's list, and what the fetcher was told of it last.
type node struct {
	Partition
	key           key
	prev, next    *node
	highWatermark kafka.Offset // told; NoOffset when it must be told again
	logStart      kafka.Offset // told
}

// session is what one fetcher is interested in. It is also the whole of a fetch without session, which ends with it.
type session struct {
	id         int32 // 0: not in the cache
	epoch      int32 // of the next fetch
	byID       bool
	privileged bool // a follower's
	busy       bool // between Open and Finish

	version    uint64 // of the image in which the topics were looked up
	unresolved bool   // partitions were added since

	nodes map[key]*node
	// changed and forgotten are of the fetch under way; attached is the caller's.
	changed, forgotten []*Partition
	attached           any

	// root is the ring's sentinel: root.next is served first.
	root node

	created, used kafka.Elapsed
	size          int // partitions, as counted in the cache
}

func newSession(req *kmsg.FetchRequest) *session {
	s := &session{byID: req.Version >= versionTopicIDs, privileged: isFollower(req)}
	s.root.prev, s.root.next = &s.root, &s.root
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	s.nodes = make(map[key]*node, n)
	return s
}

func isFollower(req *kmsg.FetchRequest) bool {
	return req.ReplicaID >= 0 || req.ReplicaState.ID >= 0
}

// update takes in what the request asks for and drops what it forgets.
func (s *session) update(req *kmsg.FetchRequest) {
	s.changed, s.forgotten = nil, nil
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			s.put(key{id: t.TopicID, name: t.Topic, partition: t.Partitions[j].Partition}, &t.Partitions[j])
		}
	}
	for i := range req.ForgottenTopics {
		t := &req.ForgottenTopics[i]
		for _, p := range t.Partitions {
			k := key{id: t.TopicID, name: t.Topic, partition: p}
			if n := s.nodes[k]; n != nil {
				n.unlink()
				delete(s.nodes, k)
				s.forgotten = append(s.forgotten, &n.Partition)
			}
		}
	}
}

// put adds a partition at the end, or changes what is asked of one that is there, in its place. Of a partition that a request
// names twice the last mention counts.
func (s *session) put(k key, p *kmsg.FetchRequestTopicPartition) {
	n := s.nodes[k]
	if n == nil {
		n = &node{key: k, highWatermark: kafka.NoOffset, logStart: kafka.NoOffset}
		n.Topic, n.TopicID, n.Partition.Partition, n.node = k.name, k.id, k.partition, n
		s.nodes[k] = n
		s.append(n)
		s.unresolved = true
	}
	s.changed = append(s.changed, &n.Partition)
	n.FetchOffset = kafka.Offset(p.FetchOffset)
	n.LogStart = kafka.Offset(p.LogStartOffset)
	n.CurrentLeaderEpoch = kafka.LeaderEpoch(p.CurrentLeaderEpoch)
	n.LastFetchedEpoch = kafka.LeaderEpoch(p.LastFetchedEpoch)
	n.HighWatermark = kafka.Offset(p.HighWatermark)
	n.MaxBytes = p.PartitionMaxBytes
	n.Directory = p.ReplicaDirectoryID
}

func (s *session) append(n *node) {
	n.prev, n.next = s.root.prev, &s.root
	n.prev.next, n.next.prev = n, n
}

func (n *node) unlink() {
	n.prev.next, n.next.prev = n.next, n.prev
	n.prev, n.next = nil, nil
}

// resolve looks every topic up in the current image, if that is news.
func (s *session) resolve(topics Topics) {
	version := topics.Version()
	if version == s.version && !s.unresolved {
		return
	}
	s.version, s.unresolved = version, false
	for n := s.root.next; n != &s.root; n = n.next {
		topic, id, code := n.Topic, n.TopicID, n.Code
		if s.byID {
			n.resolveID(topics)
		} else {
			n.TopicID, _ = topics.TopicID(n.Topic)
		}
		if topic != n.Topic || id != n.TopicID || code != n.Code {
			s.changed = append(s.changed, &n.Partition)
		}
	}
}

// resolveID finds the id's name. An id that had a name and has it no more was deleted; if the name is there, the topic
// was recreated.
func (n *node) resolveID(topics Topics) {
	if name, ok := topics.TopicName(n.TopicID); ok {
		n.Topic, n.Code = name, kafka.None
		return
	}
	n.Code = kafka.UnknownTopicID
	if n.Topic != "" {
		if _, ok := topics.TopicID(n.Topic); ok {
			n.Code = kafka.InconsistentTopicID
		}
	}
}

// rotate moves the partitions, which were served, to the end in their order. Some may be forgotten already.
func (s *session) rotate(served []*node) {
	for _, n := range served {
		if n.next != nil {
			n.unlink()
			s.append(n)
		}
	}
}
