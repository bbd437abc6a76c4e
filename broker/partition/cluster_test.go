package partition_test

import (
	"errors"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/replication"
	"github.com/fairlead-io/fairlead/broker/seglog"
	"github.com/fairlead-io/fairlead/broker/vfs"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// cluster is a few brokers of real managers, logs in memory and fetchers, wired by direct calls, with a controller that
// makes every change that a leader proposes. Nothing happens by itself: the test calls.
type cluster struct {
	t       *testing.T
	now     kafka.Elapsed
	image   *metadata.Image
	version uint64
	brokers []*broker
	rnd     *rand.Rand
	loss    int // percent of fetches and answers that get lost
	o       func(*partition.Options)
}

type broker struct {
	c       *cluster
	id      kafka.NodeID
	up      bool
	fs      *vfs.Mem
	dir     *seglog.Directory
	m       *partition.Manager
	set     *replication.Set
	applied uint64
	changes []partition.Change
}

const topic = "t"

var topicID = kafka.TopicID{1, 2, 3}

// newCluster starts n brokers, registered and alive.
func newCluster(t *testing.T, n int, o func(*partition.Options)) *cluster {
	c := &cluster{t: t, image: &metadata.Image{}, rnd: rand.New(rand.NewSource(1)), o: o}
	for i := range n {
		b := &broker{c: c, id: kafka.NodeID(i), fs: vfs.NewMem(uint64(i + 1))}
		c.brokers = append(c.brokers, b)
		if err := errors.Join(b.fs.MkdirAll("data"), b.fs.SyncDir(".")); err != nil {
			t.Fatal(err)
		}
		c.apply(&metadata.RegisterBroker{Broker: metadata.Broker{ID: b.id, Epoch: kafka.BrokerEpoch(i + 1)}})
		b.start()
	}
	return c
}

// wall is the wall clock: it goes with the other.
func (c *cluster) wall() kafka.Timestamp {
	return kafka.Timestamp(1_700_000_000_000 + time.Duration(c.now).Milliseconds())
}

// apply commits records. Brokers see them at their next sync.
func (c *cluster) apply(records ...metadata.Record) {
	c.version++
	c.image, _ = c.image.Apply(c.version, records)
}

// topic creates the topic with one partition on the brokers, led by the first.
func (c *cluster) topic(replicas ...kafka.NodeID) {
	c.apply(&metadata.TopicRecord{ID: topicID, Name: topic}, &metadata.PartitionRecord{TopicID: topicID, Partition: metadata.Partition{
		Replicas: replicas, ISR: replicas, Leader: replicas[0],
	}})
	c.sync()
}

func (c *cluster) set(name, value string) {
	c.apply(&metadata.ConfigRecord{Resource: metadata.TopicConfig(topic), Name: name, Value: value})
	c.sync()
}

func (c *cluster) state() *metadata.Partition {
	return c.image.Partition(kafka.TopicIDPartition{TopicID: topicID})
}

// lead makes a broker of the ISR the leader, with those that are up as the ISR.
func (c *cluster) lead(id kafka.NodeID) {
	isr := []kafka.NodeID{}
	for _, n := range c.state().ISR {
		if c.brokers[n].up {
			isr = append(isr, n)
		}
	}
	c.apply(&metadata.PartitionChange{TopicID: topicID, Fields: metadata.SetLeader | metadata.SetISR, Leader: id, ISR: isr})
}

// sync lets every broker see the present image.
func (c *cluster) sync() {
	for _, b := range c.brokers {
		b.sync()
	}
}

func (b *broker) sync() {
	if !b.up || b.applied == b.c.version {
		return
	}
	// One step from whatever it had: the delta is the difference, made by hand.
	delta := metadata.Delta{}
	for t := range b.c.image.Topics() {
		for i, p := range t.Partitions() {
			delta.Partitions = append(delta.Partitions, metadata.PartitionDelta{
				TopicIDPartition: kafka.TopicIDPartition{TopicID: t.ID, Partition: i}, Topic: t.Name, Before: p, After: p,
			})
		}
		delta.Configs = append(delta.Configs, metadata.ConfigDelta{Resource: metadata.TopicConfig(t.Name)})
	}
	for r := range b.c.image.Brokers() {
		delta.Brokers = append(delta.Brokers, metadata.BrokerDelta{ID: r.ID, After: r})
	}
	b.applied = b.c.version
	b.m.Apply(b.c.image, &delta, b.c.now, b.c.wall())
}

func (b *broker) start() {
	c := b.c
	var err error
	if b.dir, err = seglog.OpenDirectory(b.fs, "data"); err != nil {
		c.t.Fatal(err)
	}
	o := partition.Options{
		FS: b.fs, Directory: b.dir, Self: b.id, Rules: replica.AllRules(), LagMax: 30 * time.Second,
		Settings: func(image *metadata.Image, topic string) config.Topic {
			values := config.Values{}
			for _, s := range image.Config(metadata.TopicConfig(topic)) {
				values[s.Name] = s.Value
			}
			return config.ResolveTopic(config.Layers{Topic: values})
		},
		Alter: b.alter,
		OnChange: func(changes []partition.Change) {
			b.changes = append(b.changes, changes...)
			for _, ch := range changes {
				leader := kafka.NoNode
				if ch.Role == replica.Follower {
					leader = ch.Leader.ID
				}
				b.set.Follow(ch.Partition, leader)
			}
		},
	}
	if c.o != nil {
		c.o(&o)
	}
	b.m = partition.New(o)
	b.set = replication.NewSet(replication.Options{Self: b.id}, func(kafka.NodeID, *replication.Fetcher) func() { return func() {} })
	if err := b.m.Open(c.wall()); err != nil {
		c.t.Fatal(err)
	}
	b.up, b.applied = true, c.version
	b.m.Start(c.image, c.now, c.wall())
}

// stop ends the broker cleanly.
func (b *broker) stop() {
	if err := b.m.Close(kafka.BrokerEpoch(b.id), b.c.now); err != nil {
		b.c.t.Fatal(err)
	}
	if err := b.dir.Close(); err != nil {
		b.c.t.Fatal(err)
	}
	b.up = false
}

// kill is kill -9: files are as they are. crash is a power failure: what was not synced is lost in part.
func (b *broker) kill() {
	b.dir.Close()
	b.up = false
}

func (b *broker) crash() {
	b.fs.Crash()
	b.up = false
}

// alter is the controller: it takes what the leader proposes if its epochs are right.
func (b *broker) alter(req *kmsg.AlterPartitionRequest, done func(*kmsg.AlterPartitionResponse, error)) {
	c := b.c
	if c.lost() {
		done(nil, errors.New("lost"))
		return
	}
	resp := req.ResponseKind().(*kmsg.AlterPartitionResponse)
	for _, t := range req.Topics {
		out := kmsg.NewAlterPartitionResponseTopic()
		out.TopidID = t.TopicID
		for _, p := range t.Partitions {
			r := kmsg.NewAlterPartitionResponseTopicPartition()
			r.Partition = p.Partition
			s := c.state()
			switch {
			case t.TopicID != topicID:
				r.ErrorCode = int16(kafka.InvalidRequest)
			case p.LeaderEpoch == int32(s.LeaderEpoch) && p.PartitionEpoch == int32(s.Epoch) && !proposes(p, kafka.NodeID(req.BrokerID)):
				r.ErrorCode = int16(c.resigned(p, kafka.NodeID(req.BrokerID)))
			case p.LeaderEpoch != int32(s.LeaderEpoch) || kafka.NodeID(req.BrokerID) != s.Leader:
				r.ErrorCode = int16(kafka.FencedLeaderEpoch)
			case p.PartitionEpoch != int32(s.Epoch):
				r.ErrorCode = int16(kafka.InvalidUpdateVersion)
			default:
				var isr []kafka.NodeID
				for _, m := range p.NewEpochISR {
					if n := kafka.NodeID(m.BrokerID); !c.brokers[n].up || m.BrokerEpoch >= 0 && m.BrokerEpoch != int64(c.image.Broker(n).Epoch) {
						r.ErrorCode = int16(kafka.IneligibleReplica)
					}
					isr = append(isr, kafka.NodeID(m.BrokerID))
				}
				if r.ErrorCode != 0 {
					break
				}
				slices.Sort(isr)
				c.apply(&metadata.PartitionChange{TopicID: topicID, Fields: metadata.SetISR, ISR: isr})
				s = c.state()
				r.LeaderID, r.LeaderEpoch, r.PartitionEpoch = int32(s.Leader), int32(s.LeaderEpoch), int32(s.Epoch)
				for _, n := range s.ISR {
					r.ISR = append(r.ISR, int32(n))
				}
			}
			out.Partitions = append(out.Partitions, r)
		}
		resp.Topics = append(resp.Topics, out)
	}
	done(resp, nil)
}

func proposes(p kmsg.AlterPartitionRequestTopicPartition, id kafka.NodeID) bool {
	return slices.ContainsFunc(p.NewEpochISR, func(m kmsg.AlterPartitionRequestTopicPartitionNewEpochISR) bool { return m.BrokerID == int32(id) })
}

// resigned takes a broker out of the ISR. Where it led the first of the others that is up does.
func (c *cluster) resigned(p kmsg.AlterPartitionRequestTopicPartition, id kafka.NodeID) kafka.ErrorCode {
	change := &metadata.PartitionChange{TopicID: topicID, Fields: metadata.SetISR, Leader: kafka.NoNode}
	for _, m := range p.NewEpochISR {
		n := kafka.NodeID(m.BrokerID)
		change.ISR = append(change.ISR, n)
		if change.Leader == kafka.NoNode && c.brokers[n].up {
			change.Leader = n
		}
	}
	switch {
	case change.Leader == kafka.NoNode:
		return kafka.InvalidRequest
	case c.state().Leader == id:
		change.Fields |= metadata.SetLeader
	}
	c.apply(change)
	return kafka.NewLeaderElected
}

func (c *cluster) lost() bool { return c.loss > 0 && c.rnd.Intn(100) < c.loss }
