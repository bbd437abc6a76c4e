package record

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// BuilderOptions are the header's fields of a batch to build. The zero value gives what a plain producer sends.
type BuilderOptions struct {
	BaseOffset  kafka.Offset
	LeaderEpoch kafka.LeaderEpoch
	Codec       Codec
	Level       int // compression level in the codec's own numbers, 0: the codec's default

	// Idempotent makes the next three count; otherwise all are -1.
	Idempotent    bool
	ProducerID    kafka.ProducerID
	ProducerEpoch kafka.ProducerEpoch
	BaseSequence  int32 // NoSequence for coordinators, which have none

	Transactional bool
	Control       bool

	// LogAppendTime, if not 0, is the time of all records.
	LogAppendTime kafka.Timestamp

	// DeleteHorizon, if not 0, is the time from which tombstones and markers of the batch may go. Compaction sets it.
	DeleteHorizon kafka.Timestamp

	// LastOffset, if not 0, is the last offset that the batch covers though its records may be fewer: compaction keeps
	// what the producer sent. It must not be below the last record added.
	LastOffset kafka.Offset
}

// Builder makes one batch. Records are copied on Add, so the caller keeps its slices. A Builder may be used again after
// Reset and then allocates nothing; the batch of the last Build is invalid from then on. Not for concurrent use.
type Builder struct {
	opts    BuilderOptions
	buf     []byte // header, then the records so far, uncompressed
	out     []byte // header, then the records compressed
	count   int32
	base    kafka.Timestamp
	maximum kafka.Timestamp
	last    int64 // offset delta of the last record, -1 before the first
	err     error
}

// NewBuilder starts a batch.
func NewBuilder(o BuilderOptions) *Builder {
	b := new(Builder)
	b.Reset(o)
	return b
}

// Reset starts another batch in the same memory.
func (b *Builder) Reset(o BuilderOptions) {
	if cap(b.buf) < HeaderSize {
		b.buf = make([]byte, HeaderSize, 512)
	}
	*b = Builder{opts: o, buf: b.buf[:HeaderSize], out: b.out[:0], last: -1, maximum: kafka.NoTimestamp, base: kafka.NoTimestamp}
	if o.DeleteHorizon != 0 {
		b.base = o.DeleteHorizon
	}
}

// Count is the number of records added.
func (b *Builder) Count() int { return int(b.count) }

// Size is the bytes of the batch so far, before compression.
func (b *Builder) Size() int { return len(b.buf) }

// Add appends a record at the offset after the one before. Nil key or value is null.
func (b *Builder) Add(ts kafka.Timestamp, key, value []byte, headers ...RecordHeader) {
	raw := b.appendHeaders(headers)
	b.add(b.opts.BaseOffset+kafka.Offset(b.last+1), ts, key, value, raw)
}

// AddRecord appends a record as it is, at its own offset, which must be above the one before. Compaction uses it.
func (b *Builder) AddRecord(r *Record) {
	b.add(r.Offset, r.Timestamp, r.Key, r.Value, encodedHeaders{r.HeaderCount, r.headers})
}

// encodedHeaders are the headers of a record as they stand in it.
type encodedHeaders struct {
	count int
	raw   []byte
}

func (b *Builder) appendHeaders(hs []RecordHeader) encodedHeaders {
	if len(hs) == 0 {
		return encodedHeaders{}
	}
	var raw []byte
	for _, h := range hs {
		raw = binary.AppendVarint(raw, int64(len(h.Key)))
		raw = append(raw, h.Key...)
		raw = appendNullable(raw, h.Value)
	}
	return encodedHeaders{len(hs), raw}
}

func (b *Builder) add(offset kafka.Offset, ts kafka.Timestamp, key, value []byte, hs encodedHeaders) {
	delta := int64(offset - b.opts.BaseOffset)
	if delta <= b.last || delta > math.MaxInt32 {
		b.fail("record offset", int64(offset))
		return
	}
	if b.count == 0 && b.opts.DeleteHorizon == 0 {
		b.base = ts
	}
	b.maximum = max(b.maximum, ts)
	tsDelta := int64(ts - b.base)
	size := 1 + varintSize(tsDelta) + varintSize(delta) + nullableSize(key) + nullableSize(value) + varintSize(int64(hs.count)) + len(hs.raw)
	if len(b.buf)+size+binary.MaxVarintLen64 > MaxBatchBytes {
		b.fail("batch size", int64(len(b.buf)+size))
		return
	}
	b.buf = binary.AppendVarint(b.buf, int64(size))
	b.buf = append(b.buf, 0)
	b.buf = binary.AppendVarint(b.buf, tsDelta)
	b.buf = binary.AppendVarint(b.buf, delta)
	b.buf = appendNullable(b.buf, key)
	b.buf = appendNullable(b.buf, value)
	b.buf = binary.AppendVarint(b.buf, int64(hs.count))
	b.buf = append(b.buf, hs.raw...)
	b.last = delta
	b.count++
}

func (b *Builder) fail(field string, v int64) {
	if b.err == nil {
		b.err = fmt.Errorf("build record batch: %s %d is out of range", field, v)
	}
}

// Build gives the batch, checksum included. It is the Builder's memory until Reset. A batch without records is what
// compaction leaves of a producer's last one; its timestamps are -1.
func (b *Builder) Build() (Batch, error) {
	if b.err != nil {
		return nil, b.err
	}
	out, attrs := b.buf, Attributes(0)
	if b.opts.Codec != None && b.count > 0 {
		var err error
		b.out = append(b.out[:0], b.buf[:HeaderSize]...)
		if b.out, err = b.opts.Codec.Compress(b.out, b.buf[HeaderSize:], b.opts.Level); err != nil {
			return nil, fmt.Errorf("build record batch: %w", err)
		}
		out, attrs = b.out, Attributes(b.opts.Codec)
	}
	o := &b.opts
	last := max(b.last, 0)
	if o.LastOffset != 0 {
		if last = int64(o.LastOffset - o.BaseOffset); last < b.last || last > math.MaxInt32 || last < 0 {
			return nil, fmt.Errorf("build record batch: last offset %d does not cover the records from %d", o.LastOffset, o.BaseOffset)
		}
	}
	flag := func(set bool, bit Attributes) {
		if set {
			attrs |= bit
		}
	}
	flag(o.Transactional, attrTransactional)
	flag(o.Control, attrControl)
	flag(o.LogAppendTime != 0, attrLogAppendTime)
	flag(o.DeleteHorizon != 0, attrDeleteHorizon)
	maximum := b.maximum
	if o.LogAppendTime != 0 {
		maximum = o.LogAppendTime
	}
	pid, epoch, seq := kafka.NoProducerID, kafka.NoProducerEpoch, NoSequence
	if o.Idempotent {
		pid, epoch, seq = o.ProducerID, o.ProducerEpoch, o.BaseSequence
	}

	batch := Batch(out)
	be := binary.BigEndian
	batch.SetBaseOffset(o.BaseOffset)
	be.PutUint32(batch[atLength:], uint32(len(out)-lengthEnd))
	batch.SetLeaderEpoch(o.LeaderEpoch)
	batch[atMagic] = Magic
	be.PutUint16(batch[atAttributes:], uint16(attrs))
	be.PutUint32(batch[atLastOffsetDelta:], uint32(last))
	be.PutUint64(batch[atBaseTimestamp:], uint64(b.base))
	be.PutUint64(batch[atMaxTimestamp:], uint64(maximum))
	be.PutUint64(batch[atProducerID:], uint64(pid))
	be.PutUint16(batch[atProducerEpoch:], uint16(epoch))
	be.PutUint32(batch[atBaseSequence:], uint32(seq))
	be.PutUint32(batch[atCount:], uint32(b.count))
	batch.setCRC()
	return batch, nil
}

func appendNullable(dst, v []byte) []byte {
	if v == nil {
		return append(dst, 1) // zig-zag of -1
	}
	dst = binary.AppendVarint(dst, int64(len(v)))
	return append(dst, v...)
}

func nullableSize(v []byte) int {
	if v == nil {
		return 1
	}
	return varintSize(int64(len(v))) + len(v)
}
