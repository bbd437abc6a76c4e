package config

import (
	"strconv"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// topicConflict finds values that are each allowed and cannot be together.
func topicConflict(l Layers, t Topic) *Refusal {
	if t.MinCompactionLagMs > t.MaxCompactionLagMs {
		return &Refusal{kafka.InvalidConfig, "conflict topic config setting min.compaction.lag.ms (" +
			strconv.FormatInt(t.MinCompactionLagMs, 10) + ") > max.compaction.lag.ms (" + strconv.FormatInt(t.MaxCompactionLagMs, 10) + ")"}
	}
	if p, ok := l.topicValue(TopicDef("remote.storage.enable")); ok && p.flag {
		return &Refusal{kafka.InvalidConfig,
			"Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."}
	}
	return nil
}
