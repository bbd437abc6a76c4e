package record

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// ProduceRules are the settings by which a leader judges one batch before it appends it.
type ProduceRules struct {
	// Origin is who made the batch. A coordinator of this broker builds its batches itself, so their content is trusted:
	// only sizes, checksum, timestamp type and codec are looked at.
	Origin ProduceOrigin

	// Version is the Produce request's. Zstd needs 7.
	Version int16

	MaxMessageBytes int // max.message.bytes: size of the batch as sent, and again if it is compressed anew
	SegmentBytes    int // segment.bytes: size of the batch as stored
	// MaxInflatedBytes bounds the records of a compressed batch, decompressed; 0: DefaultMaxInflatedBytes.
	MaxInflatedBytes int

	Compacted bool // cleanup.policy has compact: every record needs a key

	TimestampType TimestampType // message.timestamp.type
	BeforeMaxMs   int64         // message.timestamp.before.max.ms; math.MaxInt64: any
	AfterMaxMs    int64         // message.timestamp.after.max.ms; math.MaxInt64: any

	Compression Compression // compression.type

	Now kafka.Timestamp // the broker's clock: append time, and what the bounds are relative to
}

// ProduceOrigin is who made a batch.
type ProduceOrigin uint8

const (
	FromClient ProduceOrigin = iota
	FromCoordinator
)

// Compression is a topic's compression.type. The zero value keeps what the producer chose.
type Compression struct {
	Convert bool // to Codec, if the batch has another
	Codec   Codec
	Level   int // compression.<codec>.level, 0: default
}

// DefaultMaxInflatedBytes bounds the decompressed records of one batch where the rules do not say. A batch that holds
// more is refused as too large (10), upon which Java producers split it.
const DefaultMaxInflatedBytes = 128 << 20

// MaxRecordErrors bounds the records that one refusal names; the rest are wrong too.
const MaxRecordErrors = 1000

// ProduceInfo is what the leader needs to append the batch.
type ProduceInfo struct {
	// Batch is to be appended once its base offset and leader epoch are set. It is the caller's bytes, or newly
	// allocated ones if Converted.
	Batch Batch
	// Converted tells that the records were encoded anew: for another codec, or because a producer numbered them
	// wrongly.
	Converted bool
	// MaxTimestamp is the largest timestamp of the records as stored.
	MaxTimestamp kafka.Timestamp
	// AppendTime is for the reply: rules.Now with LogAppendTime, otherwise [kafka.NoTimestamp].
	AppendTime kafka.Timestamp
}

// Refusal is the answer to a batch that must not be appended. Nothing of it is stored.
type Refusal struct {
	Code         kafka.ErrorCode
	Message      string
	RecordErrors []RecordError // in the order of the records, at most MaxRecordErrors
}

// RecordError names one record that is wrong.
type RecordError struct {
	Index   int32 // in the batch, from 0
	Message string
}

func refuse(code kafka.ErrorCode, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ValidateProduce judges what a producer sent for one partition, as Kafka's leaders do, in Kafka's order: so two faults
// give the same code. On success it may have rewritten timestamp type, max timestamp and checksum of b in place.
// Bytes after the first batch that are no whole batch are left out, as Kafka does.
//
// # What each rule looks at
//
//	header alone                 exactly one batch of magic 2 (87), zstd by version (76), base offset 0 (87), size (10, 18),
//	                             count = last offset delta + 1 (87), no control batch (87), sequence with a producer (87)
//	all bytes                    CRC-32C (2)
//	framing of each record       count and lengths agree with the bytes (87), offset deltas are 0, 1, 2, …, timestamps
//	                             within bounds (32), header's max timestamp is that of the records, keys where compacted (87)
//	keys and values              nothing, unless the records are encoded anew
//
// Uncompressed, the framing costs a few nanoseconds for each record and no memory. Compressed, it needs the records
// decompressed, whatever the topic's settings: a checksum says only that the bytes are those that the producer made, not
// that a consumer will find in them the records that the header promises. One such batch would stop every consumer of
// the partition and its compaction for ever, so the cheapest check that is safe is to decompress into pooled memory, up
// to a bound, and to walk the framing; nothing is copied out and nothing is compressed again.
func ValidateProduce(b []byte, rules ProduceRules) (ProduceInfo, *Refusal) {
	batch, refusal := onlyBatch(b, rules.Version)
	if refusal == nil {
		refusal = checkHeader(batch, &rules)
	}
	if refusal != nil {
		return ProduceInfo{}, refusal
	}
	info := ProduceInfo{Batch: batch, MaxTimestamp: batch.MaxTimestamp(), AppendTime: kafka.NoTimestamp}
	if refusal = checkRecords(&info, &rules); refusal != nil {
		return ProduceInfo{}, refusal
	}
	if rules.TimestampType == LogAppendTime {
		info.MaxTimestamp, info.AppendTime = rules.Now, rules.Now
	}
	if info.Converted {
		if size := info.Batch.Size(); size > rules.MaxMessageBytes {
			return ProduceInfo{}, refuse(kafka.MessageTooLarge, "the batch takes %d bytes as stored, the topic's limit is %d", size, rules.MaxMessageBytes)
		}
	} else {
		info.Batch.setTimestamps(rules.TimestampType, info.MaxTimestamp)
	}
	if size := info.Batch.Size(); size > rules.SegmentBytes {
		return ProduceInfo{}, refuse(kafka.RecordListTooLarge, "the batch takes %d bytes, the topic's segments are of %d", size, rules.SegmentBytes)
	}
	return info, nil
}

// onlyBatch cuts out the one batch that a request may hold for a partition. A length is never believed beyond the bytes
// that are there. Base offset and counts are judged later, in Kafka's order.
func onlyBatch(b []byte, version int16) (Batch, *Refusal) {
	size, refusal := claimedSize(b)
	if refusal != nil {
		return nil, refusal
	}
	if size == 0 || len(b) < size {
		return nil, refuse(kafka.InvalidRecord, "the request holds no whole record batch")
	}
	if m := b[atMagic]; m < Magic {
		return nil, refuse(kafka.InvalidRecord, "record batches must be of magic 2, this one is of magic %d", m)
	}
	if size < HeaderSize {
		return nil, refuse(kafka.CorruptMessage, "a record batch of %d bytes is smaller than its header", size)
	}
	batch := Batch(b[:size:size])
	if version < 7 && batch.Codec() == Zstd && version != 0 {
		return nil, refuse(kafka.UnsupportedCompressionType, "zstd needs version 7 of Produce, this is version %d", version)
	}
	switch second, refusal := claimedSize(b[size:]); {
	case refusal != nil:
		return nil, refusal
	case second > 0 && second <= len(b)-size:
		return nil, refuse(kafka.InvalidRecord, "the request must hold exactly one record batch for each partition")
	}
	return batch, nil
}

// claimedSize is the size that the batch at the start of b claims, 0 when b is too short to say. Older batches are told
// apart by their magic later; the least size of any is a header of magic 0.
func claimedSize(b []byte) (int, *Refusal) {
	const leastLength = 14
	if len(b) <= atMagic {
		return 0, nil
	}
	length := int32(binary.BigEndian.Uint32(b[atLength:]))
	if length < leastLength || length > MaxBatchBytes-lengthEnd {
		return 0, refuse(kafka.CorruptMessage, "a record batch cannot have a length of %d bytes", length)
	}
	if m := int8(b[atMagic]); m < 0 || m > Magic {
		return 0, refuse(kafka.CorruptMessage, "a record batch cannot have magic %d", m)
	}
	return int(length) + lengthEnd, nil
}

func checkHeader(b Batch, rules *ProduceRules) *Refusal {
	client := rules.Origin == FromClient
	if client && b.BaseOffset() != 0 {
		return refuse(kafka.InvalidRecord, "the base offset of a record batch must be 0, it is %d", b.BaseOffset())
	}
	if b.Size() > rules.MaxMessageBytes {
		return refuse(kafka.MessageTooLarge, "the record batch is of %d bytes, the topic's limit is %d", b.Size(), rules.MaxMessageBytes)
	}
	if !b.CheckCRC() {
		return refuse(kafka.CorruptMessage, "the record batch's checksum is not that of its bytes")
	}
	if !b.Codec().Known() {
		return refuse(kafka.InvalidRecord, "the record batch has the unknown codec %d", b.Codec())
	}
	if !client {
		return nil
	}
	count, delta := b.Count(), b.LastOffsetDelta()
	switch {
	case count <= 0 || int64(delta)+1 != int64(count):
		return refuse(kafka.InvalidRecord, "the record batch has %d records and a last offset delta of %d", count, delta)
	case b.IsControl():
		return refuse(kafka.InvalidRecord, "clients may not write control records")
	case b.HasProducer() && b.BaseSequence() < 0:
		return refuse(kafka.InvalidRecord, "the record batch of producer %d has sequence %d", b.ProducerID(), b.BaseSequence())
	}
	return nil
}

// bounds is the range of timestamps that the rules allow, both ends included.
func (r *ProduceRules) bounds() (least, most int64) {
	least, most = math.MinInt64, math.MaxInt64
	if r.TimestampType == LogAppendTime {
		return least, most
	}
	now := int64(r.Now)
	if r.BeforeMaxMs < math.MaxInt64 && now >= math.MinInt64+r.BeforeMaxMs {
		least = now - r.BeforeMaxMs
	}
	if now <= math.MaxInt64-r.AfterMaxMs {
		most = now + r.AfterMaxMs
	}
	return least, most
}
