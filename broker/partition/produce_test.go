package partition_test

import (
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/record"
)

// send produces made batches.
func (b *broker) send(acks int16, origin partition.Origin, epoch kafka.LeaderEpoch, data record.Batch) *partition.ProduceResult {
	result := &partition.ProduceResult{Code: pending}
	b.partition().Produce(partition.ProduceRequest{
		Records: slices.Clone(data), Version: 11, Acks: acks, Origin: origin, LeaderEpoch: epoch, Timeout: 30 * time.Second, Wall: b.c.wall(), Now: b.c.now,
	}, func(r partition.ProduceResult) { *result = r })
	return result
}

// made builds a batch of n records with the options.
func made(o record.BuilderOptions, n int) record.Batch {
	b := record.NewBuilder(o)
	for i := range n {
		b.Add(1_700_000_000_000+kafka.Timestamp(i), []byte{byte(i)}, []byte("v"))
	}
	out, err := b.Build()
	if err != nil {
		panic(err)
	}
	return slices.Clone(out)
}

func TestARetryIsAnsweredWithItsFirstOffset(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.topic(0, 1)
	from := func(seq int32) record.Batch {
		return made(record.BuilderOptions{Idempotent: true, ProducerID: 7, BaseSequence: seq}, 2)
	}
	leader := c.brokers[0]
	first := leader.send(partition.AcksAll, partition.OriginClient, kafka.NoLeaderEpoch, from(0))
	retry := leader.send(partition.AcksAll, partition.OriginClient, kafka.NoLeaderEpoch, from(0))
	wantCode(t, "a retry of what is not committed", retry.Code, pending)
	second := leader.send(partition.AcksAll, partition.OriginClient, kafka.NoLeaderEpoch, from(2))
	gap := leader.send(partition.AcksAll, partition.OriginClient, kafka.NoLeaderEpoch, from(6))
	wantCode(t, "a gap", gap.Code, kafka.OutOfOrderSequenceNumber)
	c.settle(2)
	for _, r := range []*partition.ProduceResult{first, retry} {
		if r.Code != kafka.None || r.BaseOffset != 0 || r.NextOffset != 2 {
			t.Errorf("got %+v", r)
		}
	}
	// The next leader knows them too.
	c.lead(1)
	c.settle(2)
	for seq, want := range map[int32]kafka.Offset{0: 0, 2: 2} {
		r := c.brokers[1].send(partition.AcksAll, partition.OriginClient, kafka.NoLeaderEpoch, from(seq))
		c.settle(2)
		if r.Code != kafka.None || r.BaseOffset != want {
			t.Errorf("retry of %d at the new leader: %+v", seq, r)
		}
	}
	if second.BaseOffset != 2 || c.brokers[1].partition().Describe().LogEnd != 4 {
		t.Errorf("second %+v, log end %d", second, c.brokers[1].partition().Describe().LogEnd)
	}
}

func TestReadCommitted(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.topic(0, 1)
	leader := c.brokers[0]
	txn := func(pid kafka.ProducerID) record.Batch {
		return made(record.BuilderOptions{Idempotent: true, ProducerID: pid, Transactional: true}, 1)
	}
	leader.send(partition.AcksAll, partition.OriginClient, kafka.NoLeaderEpoch, txn(1)) // 0
	leader.send(partition.AcksAll, partition.OriginClient, kafka.NoLeaderEpoch, txn(2)) // 1
	leader.produce(partition.AcksAll, "plain")                                          // 2
	c.settle(2)
	_, r := leader.read(0, partition.ReadCommitted)
	if r.HighWatermark != 3 || r.LastStable != 0 || r.Slice.Len != 0 {
		t.Errorf("watermark %d, last stable %d, %d bytes", r.HighWatermark, r.LastStable, r.Slice.Len)
	}
	end := func(pid kafka.ProducerID, commit bool) *partition.ProduceResult {
		m := record.EndTxnMarker{ProducerID: pid, Commit: commit, Timestamp: c.wall()}.Batch()
		return leader.send(partition.AcksAll, partition.OriginCoordinator, 0, m)
	}
	wantCode(t, "a marker from a client", leader.send(partition.AcksAll, partition.OriginClient, kafka.NoLeaderEpoch, marker(1)).Code, kafka.InvalidRecord)
	end(1, false) // 3
	if _, r := leader.read(0, partition.ReadCommitted); r.LastStable != 0 {
		t.Errorf("last stable %d while the marker is not committed", r.LastStable)
	}
	c.settle(2)
	if _, r := leader.read(0, partition.ReadCommitted); r.LastStable != 1 {
		t.Errorf("last stable %d", r.LastStable)
	}
	end(2, true) // 4
	c.settle(2)
	_, r = leader.read(0, partition.ReadCommitted)
	if r.LastStable != 5 || len(r.Aborted) != 1 || r.Aborted[0].ProducerID != 1 || r.Aborted[0].First != 0 {
		t.Errorf("last stable %d, aborted %+v", r.LastStable, r.Aborted)
	}
	stale := leader.send(partition.AcksAll, partition.OriginCoordinator, 5, marker(9))
	wantCode(t, "a coordinator of another epoch", stale.Code, kafka.UnknownLeaderEpoch)
}

func marker(pid kafka.ProducerID) record.Batch {
	return record.EndTxnMarker{ProducerID: pid, Commit: true, Timestamp: 1}.Batch()
}

// noting is a watcher that writes down who was ready.
type noting struct{ ready []int }

func (n *noting) PartitionReady(w *partition.Watch) { n.ready = append(n.ready, w.Index) }

func TestWatches(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.topic(0, 1)
	n := &noting{}
	watches := []*partition.Watch{
		{Watcher: n, Kind: partition.WatchLogEnd, Index: 0},
		{Watcher: n, Kind: partition.WatchHighWatermark, Index: 1},
		{Watcher: n, Kind: partition.WatchLastStable, Index: 2},
	}
	for _, w := range watches {
		c.brokers[0].partition().Watch(w)
	}
	expect := func(when string, want ...int) {
		t.Helper()
		slices.Sort(n.ready)
		if !slices.Equal(n.ready, want) {
			t.Errorf("%s: %v, want %v", when, n.ready, want)
		}
		n.ready = nil
	}
	c.brokers[0].produce(partition.AcksLeader, "a")
	expect("an append", 0)
	c.settle(2)
	expect("the watermark", 1, 2)
	c.settle(2)
	expect("nothing new")
	c.lead(1)
	c.sync()
	expect("another leader", 0, 1, 2)
	watches[0].Stop()
	watches[0].Stop()
	c.settle(1)
	n.ready = nil
	c.lead(0)
	c.sync()
	expect("after one stopped", 1, 2)
}

func TestListOffsets(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.topic(0)
	b := c.brokers[0]
	b.send(partition.AcksAll, partition.OriginClient, kafka.NoLeaderEpoch, made(record.BuilderOptions{}, 10)) // …000 to …009
	c.lead(0)
	c.sync()
	b.send(partition.AcksAll, partition.OriginClient, kafka.NoLeaderEpoch, made(record.BuilderOptions{}, 3))
	b.partition().DeleteRecords(partition.DeleteRecordsRequest{Before: 2, Now: c.now}, func(partition.DeleteRecordsResult) {})
	f := func(ts kafka.Timestamp, want partition.ListOffsetsResult) {
		t.Helper()
		got := b.partition().ListOffsets(partition.ListOffsetsRequest{Timestamp: ts, CurrentLeaderEpoch: 1, Replica: kafka.NoNode})
		if got != want {
			t.Errorf("offset for %d: %+v, want %+v", ts, got, want)
		}
	}
	type R = partition.ListOffsetsResult
	f(partition.TimestampLatest, R{Timestamp: -1, Offset: 13, LeaderEpoch: 1})
	f(partition.TimestampEarliest, R{Timestamp: -1, Offset: 2, LeaderEpoch: 0})
	f(partition.TimestampEarliestLocal, R{Timestamp: -1, Offset: 2, LeaderEpoch: 0})
	f(partition.TimestampMax, R{Timestamp: 1_700_000_000_009, Offset: 9, LeaderEpoch: 0})
	f(partition.TimestampLatestTiered, R{Timestamp: -1, Offset: -1, LeaderEpoch: -1})
	f(1_700_000_000_005, R{Timestamp: 1_700_000_000_005, Offset: 5, LeaderEpoch: 0})
	f(1_700_000_000_010, R{Timestamp: -1, Offset: -1, LeaderEpoch: -1})
	for epoch, want := range map[kafka.LeaderEpoch]kafka.ErrorCode{0: kafka.FencedLeaderEpoch, 2: kafka.UnknownLeaderEpoch} {
		if got := b.partition().ListOffsets(partition.ListOffsetsRequest{Timestamp: -1, CurrentLeaderEpoch: epoch}); got.Code != want {
			t.Errorf("epoch %d: %d", epoch, got.Code)
		}
	}
	g := func(epoch kafka.LeaderEpoch, want partition.EpochEnd) {
		t.Helper()
		if got := b.partition().OffsetForLeaderEpoch(kafka.NoLeaderEpoch, epoch); got != want {
			t.Errorf("end of epoch %d: %+v, want %+v", epoch, got, want)
		}
	}
	g(0, partition.EpochEnd{Epoch: 0, End: 10})
	g(1, partition.EpochEnd{Epoch: 1, End: 13})
	g(2, partition.EpochEnd{Epoch: -1, End: -1})
	g(-1, partition.EpochEnd{Epoch: -1, End: -1})
}

func TestFetchBounds(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.topic(0, 1)
	for _, v := range []string{"a", "b", "c"} {
		c.brokers[0].produce(partition.AcksLeader, v)
	}
	c.settle(2)
	get := func(r partition.FetchRequest) partition.FetchResult {
		r.Replica, r.Now = kafka.NoNode, c.now
		got := c.brokers[0].partition().Fetch(r)
		if got.Slice.Len > 0 {
			got.Slice.Release()
		}
		return got
	}
	none := kafka.NoLeaderEpoch
	one := get(partition.FetchRequest{From: 0, MaxBytes: 1, AtLeastOneBatch: true, CurrentLeaderEpoch: none, LastFetchedEpoch: none}).Slice
	if one.NextOffset != 1 {
		t.Errorf("at least one batch gave up to %d", one.NextOffset)
	}
	if got := get(partition.FetchRequest{From: 0, MaxBytes: 1, CurrentLeaderEpoch: none, LastFetchedEpoch: none}); got.Code != 0 || got.Slice.Len != 0 {
		t.Errorf("a byte holds no batch: %d bytes", got.Slice.Len)
	}
	if got := get(partition.FetchRequest{From: 0, MaxBytes: 2*one.Len + 1, CurrentLeaderEpoch: none, LastFetchedEpoch: none}); got.Slice.NextOffset != 2 {
		t.Errorf("two batches' bytes gave up to %d", got.Slice.NextOffset)
	}
	for _, from := range []kafka.Offset{-1, 4} {
		if got := get(partition.FetchRequest{From: from, MaxBytes: 100, CurrentLeaderEpoch: none, LastFetchedEpoch: none}); got.Code != kafka.OffsetOutOfRange {
			t.Errorf("offset %d: code %d", from, got.Code)
		}
	}
	if got := get(partition.FetchRequest{From: 3, MaxBytes: 100, CurrentLeaderEpoch: none, LastFetchedEpoch: none}); got.Code != 0 || got.HighWatermark != 3 {
		t.Errorf("at the end: %+v", got)
	}
	if got := get(partition.FetchRequest{From: 3, MaxBytes: 100, CurrentLeaderEpoch: 1, LastFetchedEpoch: none}); got.Code != kafka.UnknownLeaderEpoch || got.Leader.ID != 0 {
		t.Errorf("a later epoch: %+v", got)
	}
	follower := c.brokers[1].partition().Fetch(partition.FetchRequest{From: 0, MaxBytes: 100, CurrentLeaderEpoch: none, LastFetchedEpoch: none, Replica: kafka.NoNode})
	if follower.Code != kafka.NotLeaderOrFollower || follower.Leader.ID != 0 {
		t.Errorf("an old consumer at a follower: %+v", follower)
	}
}

func TestSettingsChangeLive(t *testing.T) {
	c := newCluster(t, 1, nil)
	c.topic(0)
	b := c.brokers[0]
	wantCode(t, "before", b.produce(partition.AcksLeader, "0123456789").Code, kafka.None)
	c.set("max.message.bytes", "70")
	wantCode(t, "max.message.bytes", b.produce(partition.AcksLeader, "0123456789").Code, kafka.MessageTooLarge)
	c.set("max.message.bytes", "1000")
	c.set("message.timestamp.type", "LogAppendTime")
	if r := b.produce(partition.AcksLeader, "x"); r.LogAppendTime != c.wall() {
		t.Errorf("append time %d", r.LogAppendTime)
	}
	c.set("cleanup.policy", "compact")
	var del partition.DeleteRecordsResult
	b.partition().DeleteRecords(partition.DeleteRecordsRequest{Before: -1}, func(r partition.DeleteRecordsResult) { del = r })
	wantCode(t, "delete records of a compacted topic", del.Code, kafka.PolicyViolation)
	c.set("internal.segment.bytes", "60")
	wantCode(t, "internal.segment.bytes", b.produce(partition.AcksLeader, "x").Code, kafka.RecordListTooLarge)
}
