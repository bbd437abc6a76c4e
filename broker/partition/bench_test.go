package partition_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/seglog"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// benchManager is a manager on the real file system with one partition on each of the brokers named.
func benchManager(b *testing.B, self kafka.NodeID, replicas ...kafka.NodeID) *partition.Partition {
	dir, err := seglog.OpenDirectory(vfs.OS(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { dir.Close() })
	m := partition.New(partition.Options{
		FS: vfs.OS(), Directory: dir, Self: self, Rules: replica.AllRules(), LagMax: time.Hour,
		Settings: func(*metadata.Image, string) config.Topic {
			return config.ResolveTopic(config.Layers{Topic: config.Values{"retention.bytes": "1"}})
		},
	})
	if err := m.Open(0); err != nil {
		b.Fatal(err)
	}
	image, _ := (&metadata.Image{}).Apply(1, []metadata.Record{
		&metadata.TopicRecord{ID: topicID, Name: topic},
		&metadata.PartitionRecord{TopicID: topicID, Partition: metadata.Partition{Replicas: replicas, ISR: replicas, Leader: replicas[0]}},
	})
	m.Start(image, 0, 0)
	p, _ := m.Get(kafka.TopicPartition{Topic: topic})
	b.Cleanup(func() { m.Close(0, 0) })
	return p
}

func benchBatch(size int) record.Batch {
	o := record.NewBuilder(record.BuilderOptions{Idempotent: false})
	value := make([]byte, 1024)
	for o.Size() < size {
		o.Add(1_700_000_000_000, nil, value)
	}
	out, err := o.Build()
	if err != nil {
		panic(err)
	}
	return out
}

// BenchmarkProduce is a leader alone: validate, patch, append, answer. The bytes of a batch are used again, as a pooled
// request buffer is.
func BenchmarkProduce(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 256 << 10} {
		b.Run(fmt.Sprint(size>>10, "KiB"), func(b *testing.B) {
			p := benchManager(b, 0, 0)
			data := benchBatch(size)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			done := func(r partition.ProduceResult) {
				if r.Code != kafka.None {
					b.Fatal(r.Code)
				}
			}
			for b.Loop() {
				data.SetBaseOffset(0)
				p.Produce(partition.ProduceRequest{Records: data, Version: 11, Acks: partition.AcksAll, LeaderEpoch: kafka.NoLeaderEpoch, Timeout: time.Second, Wall: 1_700_000_000_000}, done)
			}
		})
	}
}

// BenchmarkReplicate is the whole way of acks=all with one follower, without the network: produce, the follower's read at
// the leader, its append, and its next fetch, which completes the produce.
func BenchmarkReplicate(b *testing.B) {
	for _, size := range []int{16 << 10, 256 << 10} {
		b.Run(fmt.Sprint(size>>10, "KiB"), func(b *testing.B) {
			leader, follower := benchManager(b, 0, 0, 1), benchManager(b, 1, 0, 1)
			data := benchBatch(size)
			buf := make([]byte, 2*size)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			answered := 0
			done := func(r partition.ProduceResult) {
				if r.Code != kafka.None {
					b.Fatal(r.Code)
				}
				answered++
			}
			fetch := func() partition.FetchResult {
				pos, ok := follower.FetchPosition()
				if !ok {
					b.Fatal("no position")
				}
				return leader.Fetch(partition.FetchRequest{
					From: pos.From, MaxBytes: 1 << 20, AtLeastOneBatch: true, CurrentLeaderEpoch: pos.LeaderEpoch, LastFetchedEpoch: pos.LastEpoch,
					Replica: 1, ReplicaEpoch: kafka.NoBrokerEpoch, ReplicaLogStart: pos.LogStart, ReplicaHW: pos.Watermark,
				})
			}
			for b.Loop() {
				data.SetBaseOffset(0)
				leader.Produce(partition.ProduceRequest{Records: data, Version: 11, Acks: partition.AcksAll, LeaderEpoch: kafka.NoLeaderEpoch, Timeout: time.Second, Wall: 1_700_000_000_000}, done)
				r := fetch()
				n, err := r.Slice.ReadAt(buf[:r.Slice.Len], 0)
				if n != r.Slice.Len {
					b.Fatal(err)
				}
				if code := follower.TakeAnswer(replica.Answer{Records: buf[:n], LeaderStart: r.LogStart, LeaderWatermark: r.HighWatermark}); code != kafka.None {
					b.Fatal(code)
				}
				r.Slice.Release()
				fetch()
			}
			if answered == 0 {
				b.Fatal("nothing was acknowledged")
			}
		})
	}
}
