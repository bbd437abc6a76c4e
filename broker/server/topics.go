package server

import (
	"github.com/fairlead-io/fairlead/broker/handler"
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// topics looks topics up in the newest image. See coordinator.Topics.
type topics struct{ images *images }

func (t topics) TopicID(name string) (kafka.TopicID, bool) {
	return handler.ImageTopics{Image: t.images.Current()}.TopicID(name)
}

func (t topics) TopicName(id kafka.TopicID) (string, bool) {
	return handler.ImageTopics{Image: t.images.Current()}.TopicName(id)
}

func (t topics) Partitions(name string) int32 {
	if topic := t.images.Current().TopicByName(name); topic != nil {
		return topic.NumPartitions()
	}
	return 0
}
