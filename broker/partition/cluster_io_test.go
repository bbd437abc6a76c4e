package partition_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/twmb/franz-go/pkg/kmsg"
)

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
