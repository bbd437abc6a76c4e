package handler

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
)

// partitionOf finds a partition of this broker by name. One that the newest image has and the partitions do not know yet, since
// they follow the images one by one, is NOT_LEADER_OR_FOLLOWER: it exists, and a client that was told of it elsewhere must not
// hear the opposite.
func (h *Handler) partitionOf(tp kafka.TopicPartition) (*partition.Partition, kafka.ErrorCode) {
	p, code := h.Partitions.Get(tp)
	if code == kafka.UnknownTopicOrPartition {
		if t := h.Newest().TopicByName(tp.Topic); t != nil && t.Partition(tp.Partition) != nil {
			code = kafka.NotLeaderOrFollower
		}
	}
	return p, code
}

// partitionByID is partitionOf by the topic's id.
func (h *Handler) partitionByID(tp kafka.TopicIDPartition) (*partition.Partition, kafka.ErrorCode) {
	p, code := h.Partitions.GetByID(tp)
	if code == kafka.UnknownTopicID || code == kafka.UnknownTopicOrPartition {
		if h.Newest().Partition(tp) != nil {
			code = kafka.NotLeaderOrFollower
		}
	}
	return p, code
}
