package handler

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/record"
)

// produceTo is a produce of records to partition 0 of topics.
func produceTo(version, acks int16, records []byte, topics ...string) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, acks, 5000
	for _, name := range topics {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Records = records
		t := kmsg.NewProduceRequestTopic()
		t.Topic, t.TopicID, t.Partitions = name, topicID(name), []kmsg.ProduceRequestTopicPartition{p}
		req.Topics = append(req.Topics, t)
	}
	return req
}

func TestProduceIsAnsweredInEveryVersion(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		next := int64(0)
		for version := int16(3); version <= 13; version++ {
			for _, acks := range []int16{1, -1} {
				resp := ask[*kmsg.ProduceResponse](w, produceTo(version, acks, batch(t, record.BuilderOptions{}, "a", "b"), "t"))
				p := resp.Topics[0].Partitions[0]
				if p.ErrorCode != 0 || p.BaseOffset != next || p.LogAppendTime != -1 {
					t.Errorf("version %d, acks %d: %+v, want offset %d", version, acks, p, next)
				}
				if version < 13 && resp.Topics[0].Topic != "t" || version >= 13 && kafka.TopicID(resp.Topics[0].TopicID) != topicID("t") {
					t.Errorf("version %d: topic %q %v", version, resp.Topics[0].Topic, resp.Topics[0].TopicID)
				}
				next += 2
			}
		}
	})
}

// TestProduceAnswersWithTheErrorOfEachPartition has one cause a line.
func TestProduceAnswersWithTheErrorOfEachPartition(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		w.topic("away", on(other, self))
		w.topic("far", on(other, third))
		w.topic("__consumer_offsets", on(self))
		w.topic("few", on(self))
		w.topic("small", on(self))
		w.topic("keyed", on(self))
		w.topic("stamped", on(self))
		w.topic("thin", on(self, other))
		w.apply(&metadata.PartitionChange{TopicID: topicID("thin"), Fields: metadata.SetISR, ISR: on(self)},
			&metadata.ConfigRecord{Resource: metadata.TopicConfig("thin"), Name: "min.insync.replicas", Value: "2"},
			&metadata.ConfigRecord{Resource: metadata.TopicConfig("small"), Name: "max.message.bytes", Value: "100"},
			&metadata.ConfigRecord{Resource: metadata.TopicConfig("keyed"), Name: "cleanup.policy", Value: "compact"},
			&metadata.ConfigRecord{Resource: metadata.TopicConfig("stamped"), Name: "message.timestamp.type", Value: "LogAppendTime"})
		good := func() []byte { return batch(t, record.BuilderOptions{}, "a") }
		damaged := good()
		damaged[len(damaged)-1] ^= 1
		transactional := batch(t, record.BuilderOptions{Idempotent: true, ProducerID: 5, Transactional: true}, "a")
		f := func(what, topic string, acks int16, records []byte, want kafka.ErrorCode) {
			t.Helper()
			for _, version := range versions(kmsg.Produce) {
				code := want
				if version >= 13 && topic == "missing" {
					code = kafka.UnknownTopicID
				}
				resp := ask[*kmsg.ProduceResponse](w, produceTo(version, acks, append([]byte(nil), records...), topic))
				p := resp.Topics[0].Partitions[0]
				w.code(fmt.Sprintf("%s, version %d", what, version), p.ErrorCode, code)
				if p.ErrorCode != 0 && p.BaseOffset != -1 {
					t.Errorf("%s: offset %d with an error", what, p.BaseOffset)
				}
			}
		}
		f("no such topic", "missing", 1, good(), kafka.UnknownTopicOrPartition)
		f("a follower", "away", 1, good(), kafka.NotLeaderOrFollower)
		f("a topic of others", "far", 1, good(), kafka.NotLeaderOrFollower)
		f("a topic of the brokers", "__consumer_offsets", 1, good(), kafka.InvalidTopicException)
		f("acks=2", "t", 2, good(), kafka.InvalidRequiredAcks)
		f("acks=-2", "t", -2, good(), kafka.InvalidRequiredAcks)
		f("too few in sync", "thin", -1, good(), kafka.NotEnoughReplicas)
		f("acks=1 with too few in sync", "thin", 1, good(), kafka.None)
		f("too large", "small", 1, batch(t, record.BuilderOptions{}, string(make([]byte, 200))), kafka.MessageTooLarge)
		f("no key on a compacted topic", "keyed", 1, good(), kafka.InvalidRecord)
		f("stamped by append", "stamped", 1, good(), kafka.None)
		f("a damaged batch", "t", 1, damaged, kafka.CorruptMessage)
		f("half a batch", "t", 1, good()[:65], kafka.InvalidRecord)
		f("a batch of which the header is cut", "t", 1, good()[:20], kafka.InvalidRecord)
		f("two batches", "t", 1, append(good(), good()...), kafka.InvalidRecord)
		f("a transaction without transactional id", "t", 1, transactional, kafka.TransactionalIDAuthorizationFailed)
		f("a sequence that does not begin", "few", 1, batch(t, record.BuilderOptions{Idempotent: true, ProducerID: 5, BaseSequence: 7}, "a"), kafka.None)
		f("a gap", "few", 1, batch(t, record.BuilderOptions{Idempotent: true, ProducerID: 5, BaseSequence: 17}, "a"), kafka.OutOfOrderSequenceNumber)
		f("control batch", "t", 1, batch(t, record.BuilderOptions{Idempotent: true, ProducerID: 5, BaseSequence: -1, Control: true}, "a"), kafka.InvalidRecord)

		req := produceTo(12, 1, transactional, "t")
		req.TransactionID = kmsg.StringPtr("id")
		w.code("transactions", ask[*kmsg.ProduceResponse](w, req).Topics[0].Partitions[0].ErrorCode, kafka.InvalidTxnState)

		if p, _ := w.manager.Get(kafka.TopicPartition{Topic: "t"}); p.Describe().LogEnd != 0 {
			t.Errorf("something refused was written: log end %d", p.Describe().LogEnd)
		}
		w.manager.Fence()
		w.code("a broker that lost the quorum", ask[*kmsg.ProduceResponse](w, produceTo(13, 1, good(), "t")).Topics[0].Partitions[0].ErrorCode, kafka.NotLeaderOrFollower)
	})
}

// TestEveryWayToNameNoTopic: a name is unknown, an id is unknown, and one that is missing is no id.
func TestEveryWayToNameNoTopic(t *testing.T) {
	inWorld(t, func(w *world) {
		for version, want := range map[int16]kafka.ErrorCode{3: kafka.UnknownTopicOrPartition, 12: kafka.UnknownTopicOrPartition, 13: kafka.UnknownTopicID} {
			req := produceTo(version, 1, batch(t, record.BuilderOptions{}, "a"), "")
			req.Topics[0].TopicID = [16]byte{}
			w.code(fmt.Sprintf("produce %d", version), ask[*kmsg.ProduceResponse](w, req).Topics[0].Partitions[0].ErrorCode, want)
		}
		for version, want := range map[int16]kafka.ErrorCode{4: kafka.UnknownTopicOrPartition, 12: kafka.UnknownTopicOrPartition, 13: kafka.UnknownTopicID} {
			req := fetchFrom(version, 0, "")
			req.Topics[0].TopicID = [16]byte{}
			w.code(fmt.Sprintf("fetch %d", version), ask[*kmsg.FetchResponse](w, req).Topics[0].Partitions[0].ErrorCode, want)
		}
	})
}

func TestErrorsOfSingleRecordsAreTold(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("keyed", on(self))
		w.apply(&metadata.ConfigRecord{Resource: metadata.TopicConfig("keyed"), Name: "cleanup.policy", Value: "compact"})
		p := ask[*kmsg.ProduceResponse](w, produceTo(8, 1, batch(t, record.BuilderOptions{}, "a", "b"), "keyed")).Topics[0].Partitions[0]
		if p.ErrorMessage == nil || len(p.ErrorRecords) != 2 || p.ErrorRecords[1].RelativeOffset != 1 || p.ErrorRecords[1].ErrorMessage == nil {
			t.Errorf("%+v", p)
		}
	})
}

func TestProduceHintsAtTheLeader(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("away", on(other, self))
		w.topic("far", on(third, other))
		w.elect("far", other)
		for _, topic := range []string{"away", "far"} {
			for version := int16(9); version <= 13; version++ {
				resp := ask[*kmsg.ProduceResponse](w, produceTo(version, 1, batch(t, record.BuilderOptions{}, "a"), topic))
				leader, want := resp.Topics[0].Partitions[0].CurrentLeader, kafka.NodeID(-1)
				if version >= 10 {
					want = other
				}
				if kafka.NodeID(leader.LeaderID) != want {
					t.Errorf("%s, version %d: leader %+v, want %d", topic, version, leader, want)
				}
				if version >= 10 && (len(resp.Brokers) != 1 || resp.Brokers[0].Host != "host2" || resp.Brokers[0].Port != 9002 || *resp.Brokers[0].Rack != "rack2") {
					t.Errorf("%s, version %d: brokers %+v", topic, version, resp.Brokers)
				}
			}
		}
	})
}

// TestAcksNoneHasNoAnswer: what is refused ends the connection, since there is no other way to tell.
func TestAcksNoneHasNoAnswer(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self, other))
		f := func(topic string, want conn.Outcome) {
			t.Helper()
			if got := w.send(produceTo(9, 0, batch(t, record.BuilderOptions{}, "a"), topic)).outcome(); got != want {
				t.Errorf("%s: outcome %d, want %d", topic, got, want)
			}
		}
		f("t", conn.Unanswered)
		f("missing", conn.Closed)
		if got := w.send(produceTo(9, 0, nil)).outcome(); got != conn.Unanswered {
			t.Errorf("no topics: outcome %d", got)
		}
		if resp := ask[*kmsg.ProduceResponse](w, produceTo(9, 1, nil)); len(resp.Topics) != 0 {
			t.Errorf("no topics: %+v", resp)
		}
		if p, _ := w.manager.Get(kafka.TopicPartition{Topic: "t"}); p.Describe().LogEnd != 1 {
			t.Errorf("log end %d, want 1", p.Describe().LogEnd)
		}
	})
}

func TestAcksAllWaitsForTheFollowers(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self, other))
		a := w.send(produceTo(9, -1, batch(t, record.BuilderOptions{}, "a"), "t"))
		b := w.send(produceTo(9, -1, batch(t, record.BuilderOptions{}, "b"), "t"))
		one := w.send(produceTo(9, 1, batch(t, record.BuilderOptions{}, "c"), "t"))
		if !a.pending() || !b.pending() || one.pending() {
			t.Fatal("want acks=all pending and acks=1 answered")
		}
		w.follow("t", 1)
		if a.pending() || !b.pending() {
			t.Fatal("want the first answered, the second pending")
		}
		w.follow("t", 3)
		if p := b.response().(*kmsg.ProduceResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != 1 {
			t.Errorf("%+v", p)
		}
	})
}

func TestAcksAllEndsWithItsTimeOrWithTheLeadership(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self, other))
		late := w.send(produceTo(9, -1, batch(t, record.BuilderOptions{}, "a"), "t"))
		w.pass(4 * time.Second)
		if !late.pending() {
			t.Fatal("answered before its time")
		}
		w.pass(2 * time.Second)
		w.code("beyond its time", late.response().(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode, kafka.RequestTimedOut)
		lost := w.send(produceTo(10, -1, batch(t, record.BuilderOptions{}, "b"), "t"))
		w.elect("t", other)
		resp := lost.response().(*kmsg.ProduceResponse)
		w.code("of a leader no more", resp.Topics[0].Partitions[0].ErrorCode, kafka.NotLeaderOrFollower)
		if len(resp.Brokers) != 1 || kafka.NodeID(resp.Brokers[0].NodeID) != other {
			t.Errorf("hints %+v", resp.Brokers)
		}
	})
}

// TestOfADoubledPartitionTheLastMentionCounts, as in Kafka, which makes a map of them.
func TestOfADoubledPartitionTheLastMentionCounts(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self), on(self))
		req := produceTo(9, 1, batch(t, record.BuilderOptions{}, "first"), "t", "t")
		last := kmsg.NewProduceRequestTopicPartition()
		last.Records = batch(t, record.BuilderOptions{}, "last", "of all")
		second := last
		second.Partition, second.Records = 1, batch(t, record.BuilderOptions{}, "x")
		req.Topics[1].Partitions = []kmsg.ProduceRequestTopicPartition{second, last}
		resp := ask[*kmsg.ProduceResponse](w, req)
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 2 {
			t.Errorf("%+v", resp.Topics)
		}
		if p, _ := w.manager.Get(kafka.TopicPartition{Topic: "t"}); p.Describe().LogEnd != 2 {
			t.Errorf("log end %d, want the last mention's 2 records", p.Describe().LogEnd)
		}
	})
}

// follow is the fetch of the follower that has everything below from.
func (w *world) follow(topic string, from int64) *kmsg.FetchResponse {
	w.t.Helper()
	req := fetchFrom(17, from, topic)
	req.ReplicaState.ID, req.ReplicaState.Epoch = int32(other), int64(other)
	resp := ask[*kmsg.FetchResponse](w, req)
	w.code("follower", resp.Topics[0].Partitions[0].ErrorCode, kafka.None)
	return resp
}
