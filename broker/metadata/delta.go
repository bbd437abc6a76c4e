package metadata

import (
	"cmp"
	"iter"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Delta is what one step changed from one image to the next, net: what was changed there and back is not in it. All lists
// are sorted, so equal steps give equal deltas.
type Delta struct {
	From, To   uint64           // versions of the two images
	Topics     []TopicDelta     // created and deleted topics, by name, the deleted one before the created one
	Partitions []PartitionDelta // by topic name, topic id (those of deleted topics first), partition
	Brokers    []BrokerDelta    // by node id
	Configs    []ConfigDelta    // by type, name
	// Other tells that the cluster id, a feature level or a counter changed.
	Other bool
}

// Empty tells whether nothing changed but the version.
func (d *Delta) Empty() bool {
	return len(d.Topics)+len(d.Partitions)+len(d.Brokers)+len(d.Configs) == 0 && !d.Other
}

// TopicDelta is a topic that was created (Before is nil) or deleted (After is nil).
type TopicDelta struct{ Before, After *Topic }

// PartitionDelta is a partition that was created (Before is nil), changed, or deleted with its topic (After is nil).
type PartitionDelta struct {
	kafka.TopicIDPartition
	Topic         string
	Before, After *Partition
}

// BrokerDelta is a node that registered for the first time (Before is nil), changed, or was unregistered (After is nil).
type BrokerDelta struct {
	ID            kafka.NodeID
	Before, After *Broker
}

// ConfigDelta is the explicit settings of a resource before and after.
type ConfigDelta struct {
	Resource      Resource
	Before, After Settings
}

func (d *Delta) addTopic(before, after *Topic) {
	if before != nil && after != nil && before.ID == after.ID {
		return
	}
	if before != nil {
		d.Topics = append(d.Topics, TopicDelta{Before: before})
	}
	if after != nil {
		d.Topics = append(d.Topics, TopicDelta{After: after})
	}
}

func (d *Delta) addBroker(n kafka.NodeID, before, after *Broker) {
	if !before.equal(after) {
		d.Brokers = append(d.Brokers, BrokerDelta{n, before, after})
	}
}

func (d *Delta) addConfig(r Resource, before, after Settings) {
	if !slices.Equal(before, after) {
		d.Configs = append(d.Configs, ConfigDelta{r, before, after})
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func otherChanged(a, b *Image) bool {
	return a.clusterID != b.clusterID || a.nextProducerID != b.nextProducerID || a.nextBrokerEpoch != b.nextBrokerEpoch ||
		!slices.Equal(a.features, b.features)
}

// Diff is the delta between two images of one log, for a broker that skips entries by a snapshot.
func Diff(before, after *Image) Delta {
	if before == nil {
		before = &Image{}
	}
	d := Delta{From: before.version, To: after.version, Other: otherChanged(before, after)}
	merge(before.Topics(), after.Topics(), func(t *Topic) string { return t.Name }, func(b, a *Topic) {
		if b == a {
			return
		}
		d.addTopic(b, a)
		if b != nil && a != nil && b.ID != a.ID {
			d.addPartitions(b, nil)
			b = nil
		}
		d.addPartitions(b, a)
	})
	merge(before.Brokers(), after.Brokers(), func(b *Broker) kafka.NodeID { return b.ID }, func(b, a *Broker) {
		d.addBroker(cmp.Or(a, b).ID, b, a)
	})
	type config struct {
		key      string
		settings Settings
	}
	configs := func(i *Image) iter.Seq[*config] {
		return func(yield func(*config) bool) {
			i.configs.Scan(func(k string, s Settings) bool { return yield(&config{k, s}) })
		}
	}
	merge(configs(before), configs(after), func(c *config) string { return c.key }, func(b, a *config) {
		var was, is Settings
		if b != nil {
			was = b.settings
		}
		if a != nil {
			is = a.settings
		}
		d.addConfig(resourceOfKey(cmp.Or(a, b).key), was, is)
	})
	return d
}

// addPartitions compares the partitions of two states of one topic; nil is a topic without partitions.
func (d *Delta) addPartitions(before, after *Topic) {
	n := int32(0)
	for _, t := range []*Topic{before, after} {
		if t != nil {
			n = max(n, t.NumPartitions())
		}
	}
	for i := range n {
		d.addPartition(before, after, i)
	}
}

func (d *Delta) addPartition(before, after *Topic, n int32) {
	var b, a *Partition
	if before != nil {
		b = before.Partition(n)
	}
	if after != nil {
		a = after.Partition(n)
	}
	if b != a && !b.Equal(a) {
		t := cmp.Or(after, before)
		tp := kafka.TopicIDPartition{TopicID: t.ID, Partition: n}
		d.Partitions = append(d.Partitions, PartitionDelta{tp, t.Name, b, a})
	}
}

// merge walks two sorted sequences and visits each key with what both have for it, nil where one has nothing.
func merge[T any, K cmp.Ordered](before, after iter.Seq[*T], key func(*T) K, visit func(before, after *T)) {
	next, stop := iter.Pull(after)
	defer stop()
	a, ok := next()
	for b := range before {
		for ok && key(a) < key(b) {
			visit(nil, a)
			a, ok = next()
		}
		if ok && key(a) == key(b) {
			visit(b, a)
			a, ok = next()
			continue
		}
		visit(b, nil)
	}
	for ok {
		visit(nil, a)
		a, ok = next()
	}
}
