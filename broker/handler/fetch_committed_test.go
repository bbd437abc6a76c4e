package handler

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/record"
)

// append puts a batch into partition 0 of a topic as a coordinator does: transactions are in logs before clients may make them.
func (w *world) append(topic string, b []byte) {
	w.t.Helper()
	p, code := w.manager.Get(kafka.TopicPartition{Topic: topic})
	if code != kafka.None {
		w.t.Fatal(code)
	}
	p.Produce(partition.ProduceRequest{
		Records: b, Acks: partition.AcksLeader, Origin: partition.OriginCoordinator, LeaderEpoch: kafka.NoLeaderEpoch, Wall: w.Wall(), Now: w.Elapsed(),
	}, func(r partition.ProduceResult) {
		if r.Code != kafka.None {
			w.t.Error(r.Code)
		}
	})
}

// TestReadersOfCommittedRecordsWaitForTheEndOfATransaction, and are told which to skip.
func TestReadersOfCommittedRecordsWaitForTheEndOfATransaction(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		const producer = 5
		w.append("t", batch(t, record.BuilderOptions{Idempotent: true, ProducerID: producer, Transactional: true}, "aborted"))
		w.write("t", "after it")
		f := func(isolation int8, wait time.Duration) *asked {
			req := fetchFrom(12, 0, "t")
			req.IsolationLevel = isolation
			return w.send(waiting(req, wait))
		}
		if p := f(0, 0).response().(*kmsg.FetchResponse).Topics[0].Partitions[0]; len(p.RecordBatches) == 0 || p.LastStableOffset != 0 || p.HighWatermark != 2 {
			t.Errorf("read_uncommitted: %+v", p)
		}
		poll := f(1, time.Minute)
		w.write("t", "more")
		if !poll.pending() {
			t.Fatal("answered while the transaction is open")
		}
		w.append("t", record.EndTxnMarker{ProducerID: producer, Timestamp: 1}.Batch())
		p := poll.response().(*kmsg.FetchResponse).Topics[0].Partitions[0]
		if p.LastStableOffset != 4 || len(p.AbortedTransactions) != 1 || p.AbortedTransactions[0].ProducerID != producer || p.AbortedTransactions[0].FirstOffset != 0 || len(p.RecordBatches) == 0 {
			t.Errorf("%+v", p)
		}
		if end := ask[*kmsg.ListOffsetsResponse](w, func() *kmsg.ListOffsetsRequest {
			req := listOffsetsOf(11, -1, "t")
			req.IsolationLevel = 1
			return req
		}()).Topics[0].Partitions[0].Offset; end != 4 {
			t.Errorf("the end for readers of committed records: %d", end)
		}
	})
}

// TestABrokerThatStopsAnswersItsPolls with what there is, and later ones at once.
func TestABrokerThatStopsAnswersItsPolls(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		w.write("t", "a")
		var polls []*asked
		for range 3 {
			req := waiting(fetchFrom(12, 0, "t"), time.Hour)
			req.MinBytes = 1 << 20
			polls = append(polls, w.send(req))
		}
		if !polls[0].pending() {
			t.Fatal("answered with less than the least")
		}
		w.h.Drain()
		polls = append(polls, w.send(waiting(fetchFrom(12, 1, "t"), time.Hour)))
		for i, poll := range polls {
			if poll.pending() {
				t.Fatalf("poll %d still waits", i)
			}
			if n := sizes(poll.response().(*kmsg.FetchResponse)); fmt.Sprint(n) == "[0]" != (i == 3) {
				t.Errorf("poll %d: %v", i, n)
			}
		}
	})
}
