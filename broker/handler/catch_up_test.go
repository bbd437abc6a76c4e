package handler

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// newTopic are the records of a topic with one partition led by a broker.
func newTopic(name string, leader kafka.NodeID) []metadata.Record {
	return []metadata.Record{
		&metadata.TopicRecord{ID: topicID(name), Name: name},
		&metadata.PartitionRecord{TopicID: topicID(name), Partition: metadata.Partition{Replicas: on(leader), ISR: on(leader), Leader: leader}},
	}
}

// produceCode produces one record in version 9 or, by topic id, 13.
func produceCode(w *world, version int16, topic string) kafka.ErrorCode {
	req := produceTo(version, partition.AcksLeader, batch(w.t, record.BuilderOptions{}, "a"), topic)
	return kafka.ErrorCode(w.send(req).response().(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
}

// A client that another broker sent here, by an image that the partitions here have not followed yet, is served as soon as they have.
func TestAProduceWaitsForTheRoleThatTheNewestImageGives(t *testing.T) {
	for _, version := range []int16{9, 13} {
		inWorld(t, func(w *world) {
			follow := w.learn(newTopic("t", self)...)
			time.AfterFunc(catchUpLimit/2, follow)
			if code := produceCode(w, version, "t"); code != kafka.None {
				t.Errorf("version %d: %s, want the record to be taken once the image is followed", version, code)
			}
		})
	}
}

func TestAProduceDoesNotWaitLongerThanTheLimit(t *testing.T) {
	inWorld(t, func(w *world) {
		w.learn(newTopic("t", self)...)
		began := time.Now()
		if code := produceCode(w, 9, "t"); code != kafka.NotLeaderOrFollower {
			t.Errorf("%s, want NOT_LEADER_OR_FOLLOWER when the image is not followed in time", code)
		}
		if waited := time.Since(began); waited != catchUpLimit {
			t.Errorf("waited %v, want the limit of %v", waited, catchUpLimit)
		}
	})
}

// However many partitions a request has, its connection waits no longer than for one.
func TestAProduceToManyPartitionsWaitsOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		var topics []string
		var records []metadata.Record
		for i := range 20 {
			topics = append(topics, fmt.Sprint("t", i))
			records = append(records, newTopic(topics[i], self)...)
		}
		w.learn(records...)
		began := time.Now()
		resp := w.send(produceTo(9, partition.AcksLeader, batch(t, record.BuilderOptions{}, "a"), topics...)).response().(*kmsg.ProduceResponse)
		for _, topic := range resp.Topics {
			w.code(topic.Topic, topic.Partitions[0].ErrorCode, kafka.NotLeaderOrFollower)
		}
		if waited := time.Since(began); waited != catchUpLimit || len(resp.Topics) != len(topics) {
			t.Errorf("%d topics answered after %v, want %d after %v", len(resp.Topics), waited, len(topics), catchUpLimit)
		}
	})
}

func TestAProduceWaitsForNothingThatIsNotItsOwn(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("mine", on(self))
		w.learn(newTopic("theirs", other)...)
		began := time.Now()
		if code := produceCode(w, 9, "mine"); code != kafka.None {
			t.Errorf("to a partition that did not change: %s, want NONE", code)
		}
		if code := produceCode(w, 9, "theirs"); code != kafka.NotLeaderOrFollower {
			t.Errorf("to a partition that another broker leads: %s, want NOT_LEADER_OR_FOLLOWER", code)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %v, want nothing", waited)
		}
	})
}
