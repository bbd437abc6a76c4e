package partition_test

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/record"
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
	failed  bool // some directory went offline
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

func (c *cluster) lost() bool { return c.loss > 0 && c.rnd.Intn(100) < c.loss }

// fetch lets every fetcher of a broker do one round trip.
func (b *broker) fetch() {
	c := b.c
	for _, leader := range c.brokers {
		f := b.set.Fetcher(leader.id)
		if !b.up || f == nil || leader == b {
			continue
		}
		epoch := kafka.NoBrokerEpoch
		if r := c.image.Broker(b.id); r != nil {
			epoch = r.Epoch
		}
		req, ok := f.Next(c.now, epoch)
		if !ok {
			continue
		}
		if c.lost() || !leader.up {
			f.Handle(nil, errors.New("lost"), c.now, c.wall())
			continue
		}
		resp := leader.serve(req)
		if c.lost() {
			f.Handle(nil, errors.New("lost"), c.now, c.wall())
			continue
		}
		f.Handle(resp, nil, c.now, c.wall())
	}
}

// serve answers a fetch of a follower, without sessions and without waiting, through the wire format.
func (b *broker) serve(req *kmsg.FetchRequest) *kmsg.FetchResponse {
	resp := &kmsg.FetchResponse{Version: req.Version}
	for _, t := range req.Topics {
		out := kmsg.NewFetchResponseTopic()
		out.TopicID = t.TopicID
		for _, rp := range t.Partitions {
			r := kmsg.NewFetchResponseTopicPartition()
			r.Partition = rp.Partition
			p, code := b.m.GetByID(kafka.TopicIDPartition{TopicID: t.TopicID, Partition: rp.Partition})
			if p == nil {
				r.ErrorCode = int16(code)
				out.Partitions = append(out.Partitions, r)
				continue
			}
			got := p.Fetch(partition.FetchRequest{
				From: kafka.Offset(rp.FetchOffset), MaxBytes: int(rp.PartitionMaxBytes), AtLeastOneBatch: true,
				CurrentLeaderEpoch: kafka.LeaderEpoch(rp.CurrentLeaderEpoch), LastFetchedEpoch: kafka.LeaderEpoch(rp.LastFetchedEpoch),
				Replica: kafka.NodeID(req.ReplicaState.ID), ReplicaEpoch: kafka.BrokerEpoch(req.ReplicaState.Epoch),
				ReplicaLogStart: kafka.Offset(rp.LogStartOffset), ReplicaHW: kafka.Offset(rp.HighWatermark), Now: b.c.now,
			})
			r.ErrorCode, r.HighWatermark, r.LogStartOffset = int16(got.Code), int64(got.HighWatermark), int64(got.LogStart)
			if got.Diverging.Epoch != kafka.NoLeaderEpoch {
				r.DivergingEpoch.Epoch, r.DivergingEpoch.EndOffset = int32(got.Diverging.Epoch), int64(got.Diverging.End)
			}
			r.RecordBatches = bytesOf(b.c.t, got)
			out.Partitions = append(out.Partitions, r)
		}
		resp.Topics = append(resp.Topics, out)
	}
	back := &kmsg.FetchResponse{Version: req.Version}
	if err := back.ReadFrom(resp.AppendTo(nil)); err != nil {
		b.c.t.Fatal(err)
	}
	return back
}

func bytesOf(t *testing.T, r partition.FetchResult) []byte {
	if r.Slice.Len == 0 {
		return nil
	}
	data, err := r.Slice.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	r.Slice.Release()
	return data
}

// partition is the broker's replica.
func (b *broker) partition() *partition.Partition {
	p, _ := b.m.Get(kafka.TopicPartition{Topic: topic})
	return p
}

// settle lets time pass in small steps until everything has had its turn.
func (c *cluster) settle(rounds int) {
	for range rounds {
		c.now = c.now.Add(30 * time.Millisecond)
		c.sync()
		for _, b := range c.brokers {
			b.fetch()
			if b.up {
				b.m.Flush(c.now)
				b.m.Tick(c.now)
			}
		}
	}
}

// batch makes one batch of records.
func batch(values ...string) []byte {
	b := record.NewBuilder(record.BuilderOptions{})
	for _, v := range values {
		b.Add(1_700_000_000_000, []byte("k"), []byte(v))
	}
	out, err := b.Build()
	if err != nil {
		panic(err)
	}
	return slices.Clone(out)
}

// produce appends by a broker and returns the answer's place, which is filled when it comes.
func (b *broker) produce(acks int16, values ...string) *partition.ProduceResult {
	result := &partition.ProduceResult{Code: -2}
	p := b.partition()
	if p == nil {
		result.Code = kafka.NotLeaderOrFollower
		return result
	}
	p.Produce(partition.ProduceRequest{
		Records: batch(values...), Version: 11, Acks: acks, LeaderEpoch: kafka.NoLeaderEpoch, Timeout: 30 * time.Second, Wall: b.c.wall(), Now: b.c.now,
	}, func(r partition.ProduceResult) {
		if result.Code != -2 {
			b.c.t.Error("a produce was answered twice")
		}
		*result = r
	})
	return result
}

// read is what a consumer gets from an offset on.
func (b *broker) read(from kafka.Offset, isolation partition.Isolation) (values []string, r partition.FetchResult) {
	r = b.partition().Fetch(partition.FetchRequest{
		From: from, MaxBytes: 1 << 20, AtLeastOneBatch: true, Isolation: isolation, CurrentLeaderEpoch: kafka.NoLeaderEpoch,
		LastFetchedEpoch: kafka.NoLeaderEpoch, Replica: kafka.NoNode, AllowFollower: true, Now: b.c.now,
	})
	for rest := bytesOf(b.c.t, r); len(rest) > 0; {
		var one record.Batch
		var err error
		if one, rest, err = record.Next(rest); err != nil {
			b.c.t.Fatal(err)
		}
		if !one.CheckCRC() {
			b.c.t.Errorf("batch at %d is damaged", one.BaseOffset())
		}
		if one.IsControl() {
			continue
		}
		it := one.Records(1 << 20)
		for it.Next() {
			if o := it.Record().Offset; o >= from {
				values = append(values, fmt.Sprintf("%d=%s", o, it.Record().Value))
			}
		}
		if err := it.Err(); err != nil {
			b.c.t.Fatal(err)
		}
		it.Close()
	}
	return values, r
}
