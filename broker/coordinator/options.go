package coordinator

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/group"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/go-logr/logr"
)

// OffsetsTopic is the topic whose partitions hold groups and committed offsets, in Kafka's own record schemas.
const OffsetsTopic = "__consumer_offsets"

// Options of [NewGroups].
type Options struct {
	Clock  Clock
	Topics Topics
	// NewID gives random ids, from which member ids are made.
	NewID func() kafka.UUID
	// Log receives facts a person can act on: a load that fails, a shard that must load again. Nil discards.
	Log logr.Logger

	Config Config
}

// Config are the settings, named as in Kafka.
type Config struct {
	Group group.Config

	CommitTimeout          time.Duration // offsets.commit.timeout.ms: how long an answer waits for its record
	RetentionCheckInterval time.Duration // offsets.retention.check.interval.ms
	LoadBufferBytes        int           // offsets.load.buffer.size: one read of a load; also bounds its memory, per loader
	Loaders                int           // loads that run at the same time
	MaxBatchBytes          int           // most bytes put into one batch; at most max.message.bytes of the offsets topic
	Codec                  record.Codec  // offsets.topic.compression.codec
	MaxMailbox             int           // events that wait for one shard; beyond it requests are answered 15
}

// DefaultConfig is Kafka's.
func DefaultConfig() Config {
	return Config{
		Group:                  group.DefaultConfig(),
		CommitTimeout:          5 * time.Second,
		RetentionCheckInterval: 10 * time.Minute,
		LoadBufferBytes:        5 << 20,
		Loaders:                2,
		MaxBatchBytes:          1<<20 - 512,
		MaxMailbox:             1 << 16,
	}
}
