package handler

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
)

// listOffsets answers ListOffsets 1 to 11.
//
//	v2   isolation
//	v4   leader epochs (KIP-320)
//	v5   OFFSET_NOT_AVAILABLE of a leader that is too new (KIP-207); before, LEADER_NOT_AVAILABLE
//	v7   -3, the largest timestamp (KIP-734)
//	v8, v9, v11  -4, -5, -6: tiered storage, of which there is none
func (h *Handler) listOffsets(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.ListOffsetsRequest)
	resp := kmsg.NewPtrListOffsetsResponse()
	named := timesNamed(req)
	for _, t := range req.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for _, asked := range t.Partitions {
			result := partition.ListOffsetsResult{Code: kafka.InvalidRequest, Timestamp: kafka.NoTimestamp, Offset: kafka.NoOffset, LeaderEpoch: kafka.NoLeaderEpoch}
			tp := kafka.TopicPartition{Topic: t.Topic, Partition: asked.Partition}
			switch named[tp] {
			case 0: // answered already
				continue
			case 1:
				result = h.listOffset(req, tp, asked)
			}
			named[tp] = 0 // one that is named twice is refused once, as Kafka does
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition, rp.ErrorCode = asked.Partition, int16(result.Code)
			rp.Timestamp, rp.Offset, rp.LeaderEpoch = int64(result.Timestamp), int64(result.Offset), int32(result.LeaderEpoch)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return c.answer(resp)
}

func (h *Handler) listOffset(req *kmsg.ListOffsetsRequest, tp kafka.TopicPartition, asked kmsg.ListOffsetsRequestTopicPartition) partition.ListOffsetsResult {
	none := partition.ListOffsetsResult{Timestamp: kafka.NoTimestamp, Offset: kafka.NoOffset, LeaderEpoch: kafka.NoLeaderEpoch}
	ts := kafka.Timestamp(asked.Timestamp)
	if ts < 0 && !specialTimestamp(ts, req.Version) {
		none.Code = kafka.UnsupportedVersion
		return none
	}
	p, code := h.partitionOf(tp)
	if code != kafka.None {
		none.Code = code
		return none
	}
	replica := kafka.NoNode
	if req.ReplicaID >= 0 {
		replica = kafka.NodeID(req.ReplicaID)
	}
	result := p.ListOffsets(partition.ListOffsetsRequest{
		Timestamp: ts, Isolation: partition.Isolation(req.IsolationLevel),
		CurrentLeaderEpoch: kafka.LeaderEpoch(asked.CurrentLeaderEpoch), Replica: replica,
	})
	if result.Code == kafka.OffsetNotAvailable && req.Version < 5 {
		result.Code = kafka.LeaderNotAvailable
	}
	return result
}

// specialTimestamp tells whether a negative timestamp is a question that the version knows.
func specialTimestamp(ts kafka.Timestamp, version int16) bool {
	switch ts {
	case partition.TimestampLatest, partition.TimestampEarliest:
		return true
	case partition.TimestampMax:
		return version >= 7
	case partition.TimestampEarliestLocal:
		return version >= 8
	case partition.TimestampLatestTiered:
		return version >= 9
	case partition.TimestampEarliestPendingUpload:
		return version >= 11
	}
	return false
}

// timesNamed counts how often the request names each partition.
func timesNamed(req *kmsg.ListOffsetsRequest) map[kafka.TopicPartition]int {
	named := map[kafka.TopicPartition]int{}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			named[kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}]++
		}
	}
	return named
}
