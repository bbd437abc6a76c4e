package handler

import (
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
)

// deleteRecords answers DeleteRecords 0 to 2 (KIP-107). The new log start is on disk before the answer, which waits until all
// replicas on live brokers have followed.
func (h *Handler) deleteRecords(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.DeleteRecordsRequest)
	resp := kmsg.NewPtrDeleteRecordsResponse()
	reply := conn.Pending()
	var left atomic.Int32
	left.Store(1) // the loop itself
	done := func() {
		if left.Add(-1) == 0 {
			c.complete(reply, resp)
		}
	}
	resp.Topics = make([]kmsg.DeleteRecordsResponseTopic, len(req.Topics))
	for i, t := range req.Topics {
		resp.Topics[i].Topic = t.Topic
		resp.Topics[i].Partitions = make([]kmsg.DeleteRecordsResponseTopicPartition, len(t.Partitions))
		for j, asked := range t.Partitions {
			out := &resp.Topics[i].Partitions[j]
			out.Partition, out.LowWatermark = asked.Partition, -1
			p, code := h.partitionOf(kafka.TopicPartition{Topic: t.Topic, Partition: asked.Partition})
			if code == kafka.None && isInternal(t.Topic) {
				code = kafka.InvalidTopicException
			}
			if code != kafka.None {
				out.ErrorCode = int16(code)
				continue
			}
			left.Add(1)
			p.DeleteRecords(partition.DeleteRecordsRequest{
				Before: kafka.Offset(asked.Offset), Timeout: clientTimeout(req.TimeoutMillis), Now: h.Clock.Elapsed(),
			}, func(result partition.DeleteRecordsResult) {
				out.ErrorCode, out.LowWatermark = int16(result.Code), int64(result.LowWatermark)
				done()
			})
		}
	}
	done()
	return reply
}
