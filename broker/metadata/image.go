package metadata

import (
	"cmp"
	"iter"
	"slices"
	"strconv"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/tidwall/btree"
)

// Image is the state of the cluster after one entry of the metadata log. It is immutable and safe for concurrent use.
// The zero value is the empty cluster before its first entry.
//
// The trees are values that share nodes with those of other images. They are never written to: see edit.
type Image struct {
	version   uint64
	clusterID string
	brokers   btree.Map[int32, *Broker]
	topics    btree.Map[string, *Topic]   // by name
	names     btree.Map[string, string]   // topic id (its 16 bytes) to name
	configs   btree.Map[string, Settings] // by Resource.key; never holds an empty list
	features  []Feature                   // in order of name

	partitions      int
	nextProducerID  kafka.ProducerID
	nextBrokerEpoch kafka.BrokerEpoch
}

// Feature is a finalized level: what every broker of the cluster may rely on.
type Feature struct {
	Name  string
	Level int16
}

func compareFeature(f Feature, name string) int { return cmp.Compare(f.Name, name) }

// Version is the index of the last log entry that is in the image.
func (i *Image) Version() uint64 { return i.version }

// ClusterID is "" until the cluster was bootstrapped.
func (i *Image) ClusterID() string { return i.clusterID }

// Broker is the registration of a node, nil when there is none.
func (i *Image) Broker(n kafka.NodeID) *Broker {
	b, _ := i.brokers.Get(int32(n))
	return b
}

// Brokers yields all registrations in order of node id, fenced ones too.
func (i *Image) Brokers() iter.Seq[*Broker] {
	return func(yield func(*Broker) bool) {
		i.brokers.Scan(func(_ int32, b *Broker) bool { return yield(b) })
	}
}

// NumBrokers counts registrations, fenced ones too.
func (i *Image) NumBrokers() int { return i.brokers.Len() }

// Eligible tells whether a node is registered, not fenced and not stopping, so that it may lead and join in-sync sets.
func (i *Image) Eligible(n kafka.NodeID) bool { return i.Broker(n).Eligible() }

// TakesWrites tells whether a node is eligible and has space on its disk.
func (i *Image) TakesWrites(n kafka.NodeID) bool { return i.Broker(n).TakesWrites() }

// TopicByName is the topic with a name, nil when there is none.
func (i *Image) TopicByName(name string) *Topic {
	t, _ := i.topics.Get(name)
	return t
}

// TopicByID is the topic with an id, nil when there is none.
func (i *Image) TopicByID(id kafka.TopicID) *Topic {
	name, ok := i.names.Get(string(id[:]))
	if !ok {
		return nil
	}
	return i.TopicByName(name)
}

// Partition is a partition by the id of its topic, nil when there is none.
func (i *Image) Partition(tp kafka.TopicIDPartition) *Partition {
	t := i.TopicByID(tp.TopicID)
	if t == nil {
		return nil
	}
	return t.Partition(tp.Partition)
}

// Topics yields all topics in order of name.
func (i *Image) Topics() iter.Seq[*Topic] { return i.TopicsFrom("") }

// TopicsFrom yields the topics whose name is at or after a name, in order.
func (i *Image) TopicsFrom(name string) iter.Seq[*Topic] {
	return func(yield func(*Topic) bool) {
		i.topics.Ascend(name, func(_ string, t *Topic) bool { return yield(t) })
	}
}

// NumTopics counts topics.
func (i *Image) NumTopics() int { return i.topics.Len() }

// NumPartitions counts partitions of all topics.
func (i *Image) NumPartitions() int { return i.partitions }

// Config is the explicit settings of a resource.
func (i *Image) Config(r Resource) Settings {
	s, _ := i.configs.Get(r.key())
	return s
}

// Features are the finalized feature levels in order of name.
func (i *Image) Features() []Feature { return slices.Clone(i.features) }

// NextProducerID is the first producer id of the next block.
func (i *Image) NextProducerID() kafka.ProducerID { return i.nextProducerID }

// NextBrokerEpoch is the epoch that the next registration gets.
func (i *Image) NextBrokerEpoch() kafka.BrokerEpoch { return i.nextBrokerEpoch }

// MinISRSetting is the setting behind [Image.MinISR].
const MinISRSetting = "min.insync.replicas"

// MinISR is the number of in-sync replicas that a partition of a topic with so many replicas needs before its high
// watermark moves and acks=all is answered: the topic's own setting, else that of all brokers, else 1; and never more
// than there are replicas.
//
// The leader's watermark and the controller's ELR must agree on it, or an eligible leader may lack committed records. That
// is why it comes from the image alone: a broker's own file does not count, and a setting of a single broker is refused.
func (i *Image) MinISR(topic string, replicas int) int {
	value, ok := i.Config(TopicConfig(topic)).Get(MinISRSetting)
	if !ok {
		value, ok = i.Config(DefaultBrokerConfig).Get(MinISRSetting)
	}
	n := 1
	if ok {
		if v, err := strconv.Atoi(value); err == nil {
			n = v
		}
	}
	return max(1, min(n, replicas))
}
