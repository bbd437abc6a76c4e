package handler

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// listOffsetsOf asks for one timestamp of partition 0 of topics.
func listOffsetsOf(version int16, timestamp int64, topics ...string) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = version, -1
	for _, name := range topics {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp = timestamp
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic, t.Partitions = name, []kmsg.ListOffsetsRequestTopicPartition{p}
		req.Topics = append(req.Topics, t)
	}
	return req
}

// TestTimestampsOfListOffsets: each special one from its version on, before it UNSUPPORTED_VERSION.
func TestTimestampsOfListOffsets(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		w.write("t", "a", "b", "c") // at 1000, 1001, 1002
		for _, c := range []struct {
			name              string
			timestamp         int64
			from              int16
			offset, timeFound int64
		}{
			{"latest", -1, 1, 3, -1},
			{"earliest", -2, 1, 0, -1},
			{"the largest timestamp", -3, 7, 2, 1002},
			{"earliest local", -4, 8, 0, -1},
			{"latest tiered", -5, 9, -1, -1},
			{"earliest to be uploaded", -6, 11, -1, -1},
			{"none of these", -7, 99, -1, -1},
			{"a time", 1001, 1, 1, 1001},
			{"a time before all", 0, 1, 0, 1000},
			{"a time after all", 5000, 1, -1, -1},
		} {
			for version := int16(1); version <= 11; version++ {
				want := kafka.None
				offset, found := c.offset, c.timeFound
				if version < c.from {
					want, offset, found = kafka.UnsupportedVersion, -1, -1
				}
				p := ask[*kmsg.ListOffsetsResponse](w, listOffsetsOf(version, c.timestamp, "t")).Topics[0].Partitions[0]
				w.code(fmt.Sprintf("%s, version %d", c.name, version), p.ErrorCode, want)
				if p.Offset != offset || p.Timestamp != found || version >= 4 && offset >= 0 && p.LeaderEpoch != 0 {
					t.Errorf("%s, version %d: %+v, want offset %d, time %d", c.name, version, p, offset, found)
				}
			}
		}
	})
}

func TestListOffsetsAnswersWithTheErrorOfEachPartition(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		w.topic("away", on(other, self))
		w.topic("far", on(other))
		w.elect("t", self)
		f := func(topic string, epoch int32, want kafka.ErrorCode) {
			t.Helper()
			for _, version := range []int16{4, 11} {
				req := listOffsetsOf(version, -1, topic)
				req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
				p := ask[*kmsg.ListOffsetsResponse](w, req).Topics[0].Partitions[0]
				w.code(topic, p.ErrorCode, want)
				if want != kafka.None && (p.Offset != -1 || p.Timestamp != -1) {
					t.Errorf("%+v", p)
				}
			}
		}
		f("t", -1, kafka.None)
		f("t", 1, kafka.None)
		f("t", 0, kafka.FencedLeaderEpoch)
		f("t", 2, kafka.UnknownLeaderEpoch)
		f("missing", -1, kafka.UnknownTopicOrPartition)
		f("away", -1, kafka.NotLeaderOrFollower)
		f("far", -1, kafka.NotLeaderOrFollower)
		if got := ask[*kmsg.ListOffsetsResponse](w, listOffsetsOf(1, -1, "t", "t")); len(got.Topics[0].Partitions)+len(got.Topics[1].Partitions) != 1 || got.Topics[0].Partitions[0].ErrorCode != int16(kafka.InvalidRequest) {
			t.Errorf("a partition named twice: %+v", got)
		}
	})
}

// TestANewLeaderDoesNotKnowTheLatestOffset until its followers have told what they have (KIP-207).
func TestANewLeaderDoesNotKnowTheLatestOffset(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self, other))
		w.write("t", "a")
		w.elect("t", self)
		for version, want := range map[int16]kafka.ErrorCode{1: kafka.LeaderNotAvailable, 4: kafka.LeaderNotAvailable, 5: kafka.OffsetNotAvailable, 11: kafka.OffsetNotAvailable} {
			w.code(fmt.Sprintf("version %d", version), ask[*kmsg.ListOffsetsResponse](w, listOffsetsOf(version, -1, "t")).Topics[0].Partitions[0].ErrorCode, want)
		}
		req := listOffsetsOf(11, -1, "t")
		req.ReplicaID = int32(other)
		if p := ask[*kmsg.ListOffsetsResponse](w, req).Topics[0].Partitions[0]; p.Offset != 1 || p.ErrorCode != 0 {
			t.Errorf("a follower: %+v", p)
		}
		w.follow("t", 1)
		if p := ask[*kmsg.ListOffsetsResponse](w, listOffsetsOf(11, -1, "t")).Topics[0].Partitions[0]; p.Offset != 1 || p.ErrorCode != 0 || p.LeaderEpoch != 1 {
			t.Errorf("afterwards: %+v", p)
		}
	})
}

func TestOffsetForLeaderEpoch(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		w.topic("far", on(other))
		w.write("t", "a", "b")
		w.elect("t", self)
		w.write("t", "c")
		f := func(what, topic string, current, epoch int32, code kafka.ErrorCode, wantEpoch int32, wantEnd int64) {
			t.Helper()
			for version := int16(2); version <= 4; version++ {
				p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
				p.CurrentLeaderEpoch, p.LeaderEpoch = current, epoch
				topics := kmsg.NewOffsetForLeaderEpochRequestTopic()
				topics.Topic, topics.Partitions = topic, []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}
				req := kmsg.NewPtrOffsetForLeaderEpochRequest()
				req.Version, req.Topics = version, []kmsg.OffsetForLeaderEpochRequestTopic{topics}
				got := ask[*kmsg.OffsetForLeaderEpochResponse](w, req).Topics[0].Partitions[0]
				w.code(what, got.ErrorCode, code)
				if got.LeaderEpoch != wantEpoch || got.EndOffset != wantEnd {
					t.Errorf("%s: %+v, want epoch %d until %d", what, got, wantEpoch, wantEnd)
				}
			}
		}
		f("the first epoch", "t", 1, 0, kafka.None, 0, 2)
		f("this epoch", "t", -1, 1, kafka.None, 1, 3)
		f("none", "t", -1, 7, kafka.None, -1, -1)
		f("an old belief", "t", 0, 0, kafka.FencedLeaderEpoch, -1, -1)
		f("a new belief", "t", 2, 0, kafka.UnknownLeaderEpoch, -1, -1)
		f("no such topic", "missing", -1, 0, kafka.UnknownTopicOrPartition, -1, -1)
		f("a topic of others", "far", -1, 0, kafka.NotLeaderOrFollower, -1, -1)
	})
}

func TestDeleteRecords(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		w.topic("pair", on(self, other))
		w.topic("far", on(other))
		w.topic("__consumer_offsets", on(self))
		w.write("t", "a", "b", "c")
		w.write("pair", "a")
		ask := func(version int16, before int64, topics ...string) *asked {
			req := kmsg.NewPtrDeleteRecordsRequest()
			req.Version, req.TimeoutMillis = version, 5000
			for _, name := range topics {
				p := kmsg.NewDeleteRecordsRequestTopicPartition()
				p.Offset = before
				t := kmsg.NewDeleteRecordsRequestTopic()
				t.Topic, t.Partitions = name, []kmsg.DeleteRecordsRequestTopicPartition{p}
				req.Topics = append(req.Topics, t)
			}
			return w.send(req)
		}
		f := func(topic string, before int64, want kafka.ErrorCode, low int64) {
			t.Helper()
			for version := int16(0); version <= 2; version++ {
				p := ask(version, before, topic).response().(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
				w.code(topic, p.ErrorCode, want)
				if p.LowWatermark != low {
					t.Errorf("%s before %d: low watermark %d, want %d", topic, before, p.LowWatermark, low)
				}
			}
		}
		f("t", 1, kafka.None, 1)
		f("t", 0, kafka.None, 1)
		f("t", 4, kafka.OffsetOutOfRange, -1)
		f("t", -2, kafka.OffsetOutOfRange, -1)
		f("t", -1, kafka.None, 3)
		f("missing", 0, kafka.UnknownTopicOrPartition, -1)
		f("far", 0, kafka.NotLeaderOrFollower, -1)
		f("__consumer_offsets", 0, kafka.InvalidTopicException, -1)
		if resp := ask(2, 0).response().(*kmsg.DeleteRecordsResponse); len(resp.Topics) != 0 {
			t.Errorf("no topics: %+v", resp)
		}
		w.follow("pair", 1)
		waits := ask(2, 1, "pair", "t", "missing")
		if !waits.pending() {
			t.Fatal("answered before the follower has followed")
		}
		w.elect("pair", other)
		resp := waits.response().(*kmsg.DeleteRecordsResponse)
		w.code("leadership is lost meanwhile", resp.Topics[0].Partitions[0].ErrorCode, kafka.NotLeaderOrFollower)
		w.code("the others", resp.Topics[2].Partitions[0].ErrorCode, kafka.UnknownTopicOrPartition)
	})
}
