package handler

import (
	"iter"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// describeTopicPartitions answers DescribeTopicPartitions 0 (KIP-966): topics in order of name, page by page. A page has
// at most the partitions that the client asks for and max.request.partition.size.limit allows; the cursor says
// where the next one begins.
func (h *Handler) describeTopicPartitions(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.DescribeTopicPartitionsRequest)
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	room := h.Settings().Network.MaxDescribedPartitions
	if req.ResponsePartitionLimit > 0 {
		room = min(room, req.ResponsePartitionLimit)
	}
	from, first := "", int32(0)
	if req.Cursor != nil && req.Cursor.Partition < 0 {
		for _, t := range req.Topics { // as Kafka, which has no place for one error of all
			rt := kmsg.NewDescribeTopicPartitionsResponseTopic()
			rt.Topic, rt.ErrorCode = kmsg.StringPtr(t.Topic), int16(kafka.InvalidRequest)
			resp.Topics = append(resp.Topics, rt)
		}
		return c.answer(resp)
	}
	if req.Cursor != nil {
		from, first = req.Cursor.Topic, req.Cursor.Partition
	}
	v := c.view()
	for name := range topicsToDescribe(c.image, req, from) {
		if room <= 0 {
			resp.NextCursor = describeCursor(name, 0)
			break
		}
		if name != from {
			first = 0
		}
		t := c.image.TopicByName(name)
		if t == nil {
			// The topic that the cursor names may be gone by now: not the client's mistake.
			if name != from || req.Cursor == nil {
				resp.Topics = append(resp.Topics, missingTopic(name))
			}
			continue
		}
		described := describedTopic(v, t, first, room)
		resp.Topics = append(resp.Topics, described)
		room -= int32(len(described.Partitions))
		if next := first + int32(len(described.Partitions)); next < t.NumPartitions() {
			resp.NextCursor = describeCursor(name, next)
			break
		}
	}
	return c.answer(resp)
}

// topicsToDescribe yields the names asked for, or all, in order, beginning at from.
func topicsToDescribe(image *metadata.Image, req *kmsg.DescribeTopicPartitionsRequest, from string) iter.Seq[string] {
	if len(req.Topics) > 0 {
		var names []string
		for _, t := range req.Topics {
			if t.Topic >= from {
				names = append(names, t.Topic)
			}
		}
		slices.Sort(names)
		return slices.Values(slices.Compact(names))
	}
	return func(yield func(string) bool) {
		for t := range image.TopicsFrom(from) {
			if !yield(t.Name) {
				return
			}
		}
	}
}

func missingTopic(name string) kmsg.DescribeTopicPartitionsResponseTopic {
	t := kmsg.NewDescribeTopicPartitionsResponseTopic()
	t.Topic, t.AuthorizedOperations = &name, topicOperations
	t.ErrorCode = int16(kafka.UnknownTopicOrPartition)
	if !kafka.ValidTopicName(name) {
		t.ErrorCode = int16(kafka.InvalidTopicException)
	}
	return t
}

// describedTopic describes partitions [first, first+room) of a topic.
func describedTopic(v view, t *metadata.Topic, first, room int32) kmsg.DescribeTopicPartitionsResponseTopic {
	out := kmsg.NewDescribeTopicPartitionsResponseTopic()
	out.Topic, out.TopicID, out.IsInternal, out.AuthorizedOperations = &t.Name, t.ID, isInternal(t.Name), topicOperations
	for n := first; n < t.NumPartitions() && n-first < room; n++ {
		p := t.Partition(n)
		s := v.partition(p)
		op := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		op.Partition, op.LeaderID, op.LeaderEpoch, op.ErrorCode = n, int32(s.leader), int32(p.LeaderEpoch), int16(s.code)
		op.Replicas, op.ISR, op.OfflineReplicas = s.replicas, s.isr, s.offline
		op.EligibleLeaderReplicas, op.LastKnownELR = s.elr, s.lastKnownELR
		out.Partitions = append(out.Partitions, op)
	}
	return out
}

func describeCursor(topic string, partition int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = topic, partition
	return &c
}
