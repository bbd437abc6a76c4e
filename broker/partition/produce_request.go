package partition

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// Origin tells who wrote the batches of a produce.
type Origin uint8

const (
	// OriginClient batches are validated by all rules for producers; control batches are refused.
	OriginClient Origin = iota
	// OriginCoordinator batches come from a coordinator of this broker and may be control batches.
	OriginCoordinator
)

// Acks of a produce.
const (
	AcksNone   int16 = 0
	AcksLeader int16 = 1
	AcksAll    int16 = -1
)

// ProduceRequest is one partition's part of a produce.
type ProduceRequest struct {
	// Records is one batch. The partition writes offset, epoch and, where the topic says so, timestamps into it in
	// place; it belongs to the partition until done is called and is not kept after.
	Records []byte
	Version int16 // of the Produce request; a coordinator leaves it 0
	Acks    int16
	Origin  Origin
	// LeaderEpoch is the epoch that the caller believes in, checked if not NoLeaderEpoch. Coordinators set it, so
	// that a shard that was unloaded and loaded again cannot write with the belief of its former life.
	LeaderEpoch kafka.LeaderEpoch
	// Timeout bounds the wait of acks=all; then the answer is REQUEST_TIMED_OUT although the batches stay.
	Timeout time.Duration
	Wall    kafka.Timestamp // time of append
	Now     kafka.Elapsed
}

// ProduceResult is the answer for one partition.
type ProduceResult struct {
	Code          kafka.ErrorCode
	Message       string
	RecordErrors  []record.RecordError
	BaseOffset    kafka.Offset    // NoOffset on errors
	NextOffset    kafka.Offset    // one past the last record written
	LogAppendTime kafka.Timestamp // NoTimestamp unless the topic stamps by append
	LogStart      kafka.Offset
	Leader        Leader // who leads, for the hint of Produce 10 and above
}

// Leader is who leads a partition as this broker knows it.
type Leader struct {
	ID    kafka.NodeID
	Epoch kafka.LeaderEpoch
}
