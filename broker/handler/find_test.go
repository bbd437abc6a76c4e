package handler

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/replication"
)

// The partitions follow the images one by one, and a new one takes a while to be made: meanwhile it is not unknown.
func TestAPartitionThatIsNotMadeYetIsNotUnknown(t *testing.T) {
	inWorld(t, func(w *world) {
		before := w.images.Current()
		image, _ := before.Apply(before.Version()+1, []metadata.Record{
			&metadata.TopicRecord{ID: topicID("new"), Name: "new"},
			&metadata.PartitionRecord{TopicID: topicID("new"), Partition: metadata.Partition{Replicas: on(self), ISR: on(self), Leader: self}},
		})
		w.images.publish(image)
		for _, version := range []int16{12, 13} {
			resp := ask[*kmsg.ProduceResponse](w, produceTo(version, 1, batch(t, record.BuilderOptions{}, "a"), "new", "none"))
			w.code("produce to a partition that is not made yet", resp.Topics[0].Partitions[0].ErrorCode, kafka.NotLeaderOrFollower)
			unknown := kafka.UnknownTopicOrPartition
			if version >= 13 {
				unknown = kafka.UnknownTopicID
			}
			w.code("produce to a topic that there is not", resp.Topics[1].Partitions[0].ErrorCode, unknown)
		}
	})
}

func TestAThrottledFollowerIsSentNoMoreThanTheRate(t *testing.T) {
	inWorld(t, func(w *world) {
		throttle := replication.NewThrottle()
		throttle.Set(10, w.Elapsed())
		w.h.Throttle = throttle
		w.topic("t", on(self, other))
		w.write("t", "a", "b")
		fetched := func(follower kafka.NodeID) int {
			req := kmsg.NewPtrFetchRequest()
			req.Version, req.MaxBytes, req.ReplicaState.ID, req.SessionEpoch = 17, 1<<20, int32(follower), -1
			p := kmsg.NewFetchRequestTopicPartition()
			p.PartitionMaxBytes, p.LastFetchedEpoch = 1<<20, -1
			rt := kmsg.NewFetchRequestTopic()
			rt.TopicID, rt.Partitions = topicID("t"), []kmsg.FetchRequestTopicPartition{p}
			req.Topics = append(req.Topics, rt)
			got := ask[*kmsg.FetchResponse](w, req).Topics[0].Partitions[0]
			w.code("fetch", got.ErrorCode, kafka.None)
			return len(got.RecordBatches)
		}
		times := func(follower kafka.NodeID, wantFirst, wantNext bool) {
			t.Helper()
			first, next := fetched(follower), fetched(follower)
			if first > 0 != wantFirst || next > 0 != wantNext {
				t.Errorf("follower %d is sent %d bytes and then %d", follower, first, next)
			}
		}
		times(other, true, true) // no list of throttled replicas
		w.apply(&metadata.ConfigRecord{Resource: metadata.TopicConfig("t"), Name: "leader.replication.throttled.replicas", Value: "*"})
		times(other, true, true) // in sync
		w.apply(&metadata.PartitionChange{TopicID: topicID("t"), Fields: metadata.SetISR, ISR: on(self)})
		times(other, true, false)
		throttle.Set(replication.Unlimited, w.Elapsed())
		times(other, true, true)
	})
}
