package coordinator

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Log is what a shard needs of its partition. All methods may be called from any goroutine.
type Log interface {
	// Append appends one batch as the leader in the given epoch, with acks=all. It does not block on replication.
	// done is called exactly once, perhaps before Append returns, and in offset order. The batch belongs to the log until
	// then. There is no timeout: as long as this broker leads in that epoch, done waits for the high watermark.
	Append(epoch kafka.LeaderEpoch, batch record.Batch, done func(AppendResult))

	// Read reads whole committed batches, [from, high watermark), into buf and gives the filled part. It gives at least one
	// batch when there is one, in a larger buffer of its own if buf is too small, and nothing when there is none. The first
	// batch may begin below from. A from below Bounds().Start reads from the start. It may block on the disk.
	Read(from kafka.Offset, buf []byte) ([]byte, error)

	// Bounds gives the log's offsets at one moment. Start <= HighWatermark <= End.
	Bounds() Bounds
}

// Bounds of a log: [Start, End) is there, [Start, HighWatermark) is committed.
type Bounds struct {
	Start, HighWatermark, End kafka.Offset
}

// AppendResult is how an append ended.
type AppendResult struct {
	// Code None: committed. Refusals that say that nothing was or will be written: NotEnoughReplicas, MessageTooLarge,
	// RecordListTooLarge, InvalidRecord, CorruptMessage, KafkaStorageError when nothing was written.
	// Any other code, NotLeaderOrFollower, NotEnoughReplicasAfterAppend and RequestTimedOut among them, leaves open
	// whether the batch is in the log.
	Code kafka.ErrorCode
	// BaseOffset of the batch when Code is None.
	BaseOffset kafka.Offset
}

// Topics is what a shard needs of the cluster image. It must be at least as new as the image that elected this broker,
// and must not go back: an offset whose topic it does not know is an offset of a deleted topic.
type Topics interface {
	TopicID(name string) (kafka.TopicID, bool)
	TopicName(id kafka.TopicID) (string, bool)
	// Partitions is the number of partitions of the topic, 0 if there is no such topic.
	Partitions(name string) int32
}

// Clock gives the times. A simulation gives virtual ones.
type Clock interface {
	Elapsed() kafka.Elapsed
	Wall() kafka.Timestamp
}

// Caller is who sends a request.
type Caller struct {
	ClientID   string
	ClientHost string // the address as Kafka prints it: "/" and the IP address
}

// Reply takes the response to one request, exactly once, from any goroutine. It must not block.
type Reply func(kmsg.Response)
