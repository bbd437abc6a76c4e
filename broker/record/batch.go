package record

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// HeaderSize is the number of bytes before the records of a batch.
const HeaderSize = 61

// MaxBatchBytes bounds the size of one batch, header included, that anything here believes. A batch cannot be larger
// than a segment, whose positions are 31 bits, nor than a request.
const MaxBatchBytes = 1 << 30

// NoSequence marks a batch without idempotence.
const NoSequence int32 = -1

// Magic is the only format of batches that Fairlead knows; Kafka has written no other since 0.11.
const Magic = 2

// Positions of the header's fields.
const (
	atBaseOffset      = 0
	atLength          = 8
	atLeaderEpoch     = 12
	atMagic           = 16
	atCRC             = 17
	atAttributes      = 21
	atLastOffsetDelta = 23
	atBaseTimestamp   = 27
	atMaxTimestamp    = 35
	atProducerID      = 43
	atProducerEpoch   = 51
	atBaseSequence    = 53
	atCount           = 57

	lengthEnd = 12 // the length counts the bytes from here
)

// Batch is exactly one batch of magic 2, a view and never a copy. Make one by [Next], which checks its length;
// the accessors panic on fewer than [HeaderSize] bytes. The header's fields are whatever the bytes say: only
// [Batch.CheckCRC] and [ValidateProduce] judge them.
type Batch []byte

func (b Batch) i64(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
func (b Batch) i32(at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
func (b Batch) i16(at int) int16 { return int16(binary.BigEndian.Uint16(b[at:])) }

// Size is the batch's bytes, header included.
func (b Batch) Size() int { return len(b) }

// BaseOffset is the offset of the first record as the producer sent it; after compaction it may be gone.
func (b Batch) BaseOffset() kafka.Offset { return kafka.Offset(b.i64(atBaseOffset)) }

// LastOffset is the offset of the last record as the producer sent it; after compaction it may be gone.
func (b Batch) LastOffset() kafka.Offset { return b.BaseOffset() + kafka.Offset(b.LastOffsetDelta()) }

// NextOffset is the offset after the batch: the batch covers [BaseOffset, NextOffset).
func (b Batch) NextOffset() kafka.Offset { return b.LastOffset() + 1 }

// LastOffsetDelta is LastOffset - BaseOffset.
func (b Batch) LastOffsetDelta() int32 { return b.i32(atLastOffsetDelta) }

// LeaderEpoch is the epoch of the leader that appended the batch.
func (b Batch) LeaderEpoch() kafka.LeaderEpoch { return kafka.LeaderEpoch(b.i32(atLeaderEpoch)) }

// Attributes are the batch's flags.
func (b Batch) Attributes() Attributes { return Attributes(b.i16(atAttributes)) }

// Codec is the compression of the records.
func (b Batch) Codec() Codec { return b.Attributes().Codec() }

// TimestampType tells whose clock the timestamps are of.
func (b Batch) TimestampType() TimestampType { return b.Attributes().TimestampType() }

// IsTransactional tells whether the batch belongs to a transaction, its marker included.
func (b Batch) IsTransactional() bool { return b.Attributes().IsTransactional() }

// IsControl tells whether the batch holds a control record, which no consumer sees.
func (b Batch) IsControl() bool { return b.Attributes().IsControl() }

// BaseTimestamp is what the records' timestamp deltas count from.
func (b Batch) BaseTimestamp() kafka.Timestamp { return kafka.Timestamp(b.i64(atBaseTimestamp)) }

// MaxTimestamp is the largest timestamp of the records; with LogAppendTime, the timestamp of all of them.
func (b Batch) MaxTimestamp() kafka.Timestamp { return kafka.Timestamp(b.i64(atMaxTimestamp)) }

// DeleteHorizon is the time from which compaction may remove the batch's tombstones and marker, if one is set.
func (b Batch) DeleteHorizon() (kafka.Timestamp, bool) {
	return b.BaseTimestamp(), b.Attributes().HasDeleteHorizon()
}

// ProducerID is the idempotent producer's id or [kafka.NoProducerID].
func (b Batch) ProducerID() kafka.ProducerID { return kafka.ProducerID(b.i64(atProducerID)) }

// HasProducer tells whether the batch comes from an idempotent producer.
func (b Batch) HasProducer() bool { return b.ProducerID() > kafka.NoProducerID }

// ProducerEpoch is the incarnation of the producer id.
func (b Batch) ProducerEpoch() kafka.ProducerEpoch {
	return kafka.ProducerEpoch(b.i16(atProducerEpoch))
}

// BaseSequence is the sequence number of the first record or [NoSequence].
func (b Batch) BaseSequence() int32 { return b.i32(atBaseSequence) }

// LastSequence is the sequence number of the last record, which wraps from 2^31-1 to 0.
func (b Batch) LastSequence() int32 {
	if b.BaseSequence() == NoSequence {
		return NoSequence
	}
	return AddSequence(b.BaseSequence(), b.LastOffsetDelta())
}

// Count is the number of records that the header claims.
func (b Batch) Count() int32 { return b.i32(atCount) }

// CRC is the checksum that the header claims.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[atCRC:]) }

// CheckCRC tells whether the header's checksum is that of the bytes.
func (b Batch) CheckCRC() bool { return crc32.Checksum(b[atAttributes:], castagnoli) == b.CRC() }

// SetBaseOffset assigns the batch's place in the log. The checksum does not cover it.
func (b Batch) SetBaseOffset(o kafka.Offset) {
	binary.BigEndian.PutUint64(b[atBaseOffset:], uint64(o))
}

// SetLeaderEpoch stamps the epoch of the leader that appends the batch. The checksum does not cover it.
func (b Batch) SetLeaderEpoch(e kafka.LeaderEpoch) {
	binary.BigEndian.PutUint32(b[atLeaderEpoch:], uint32(e))
}

// SetLogAppendTime gives all records the time t: it rewrites attributes, maxTimestamp and checksum, nothing else, so
// compressed records stay as sent. The checksum must have been right before.
func (b Batch) SetLogAppendTime(t kafka.Timestamp) { b.setTimestamps(LogAppendTime, t) }

// Payload is what follows the header: the records, compressed if [Batch.Codec] says so. A view.
func (b Batch) Payload() []byte { return b[HeaderSize:] }

// AddSequence is the sequence number n records after seq; after 2^31-1 comes 0.
func AddSequence(seq, n int32) int32 {
	if seq > math.MaxInt32-n {
		return n - (math.MaxInt32 - seq) - 1
	}
	return seq + n
}
