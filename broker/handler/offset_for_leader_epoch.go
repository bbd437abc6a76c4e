package handler

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
)

// offsetForLeaderEpoch answers OffsetForLeaderEpoch 2 to 4 (KIP-101, KIP-279, KIP-320): where the records of an epoch end.
func (h *Handler) offsetForLeaderEpoch(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.OffsetForLeaderEpochRequest)
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		for _, asked := range t.Partitions {
			end := partition.EpochEnd{Epoch: kafka.NoLeaderEpoch, End: kafka.NoOffset}
			p, code := h.partitionOf(kafka.TopicPartition{Topic: t.Topic, Partition: asked.Partition})
			if code == kafka.None {
				end = p.OffsetForLeaderEpoch(kafka.LeaderEpoch(asked.CurrentLeaderEpoch), kafka.LeaderEpoch(asked.LeaderEpoch))
			} else {
				end.Code = code
			}
			rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			rp.Partition, rp.ErrorCode, rp.LeaderEpoch, rp.EndOffset = asked.Partition, int16(end.Code), int32(end.Epoch), int64(end.End)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return c.answer(resp)
}
