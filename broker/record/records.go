package record

import (
	"iter"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Record is one record of a batch. Slices are views, see the package's rules of ownership.
type Record struct {
	Offset    kafka.Offset
	Timestamp kafka.Timestamp
	Key       []byte // nil: null
	Value     []byte // nil: null, a tombstone where the topic is compacted

	HeaderCount int
	headers     []byte // as encoded, without the count
}

// RecordHeader is one header of a record to build.
type RecordHeader struct {
	Key   string
	Value []byte // nil: null
}

// Headers iterates over the headers in their order. Both slices are views; a nil value is null.
func (r *Record) Headers() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		b, at := r.headers, 0
		for range r.HeaderCount { // the framing was checked by the iterator
			n, next := varint(b, at)
			key := b[next : next+int(n)]
			at = next + int(n)
			var value []byte
			if n, at = varint(b, at); n >= 0 {
				value = b[at : at+int(n) : at+int(n)]
				at += int(n)
			}
			if !yield(key, value) {
				return
			}
		}
	}
}

// frame is where the parts of one record are in the decompressed records.
type frame struct {
	timestampDelta     int64
	offsetDelta        int32
	keyStart, keyEnd   int // keyEnd -1: null
	valStart, valEnd   int // valEnd -1: null
	headerCount        int
	headersStart, next int // the headers are [headersStart, next)
}

// key is a view, nil when null.
func (f *frame) key(data []byte) []byte {
	if f.keyEnd < 0 {
		return nil
	}
	return data[f.keyStart:f.keyEnd:f.keyEnd]
}

// value is a view, nil when null.
func (f *frame) value(data []byte) []byte {
	if f.valEnd < 0 {
		return nil
	}
	return data[f.valStart:f.valEnd:f.valEnd]
}

// parseFrame reads the record at b[at:] and checks that its parts fill the length that it claims exactly, so that every
// reader which trusts the lengths stays inside. On false, field says what was wrong.
func parseFrame(b []byte, at int, f *frame) (field string, ok bool) {
	size, p := varint(b, at)
	if p == 0 || size < 0 || size > int64(len(b)-p) {
		return "record length", false
	}
	end := p + int(size)
	f.next = end
	b = b[:end:end] // nothing below may look further
	if p >= end {
		return "record attributes", false
	}
	p++ // attributes: unused, Kafka ignores them
	v, p := varint(b, p)
	if p == 0 {
		return "timestamp delta", false
	}
	f.timestampDelta = v
	v, p = varint(b, p)
	if p == 0 || int64(int32(v)) != v {
		return "offset delta", false
	}
	f.offsetDelta = int32(v)
	v, p = varint(b, p)
	if p == 0 || v > int64(end-p) {
		return "key length", false
	}
	f.keyStart, f.keyEnd = p, -1
	if v >= 0 {
		p += int(v)
		f.keyEnd = p
	}
	v, p = varint(b, p)
	if p == 0 || v > int64(end-p) {
		return "value length", false
	}
	f.valStart, f.valEnd = p, -1
	if v >= 0 {
		p += int(v)
		f.valEnd = p
	}
	v, p = varint(b, p)
	if p == 0 || v < 0 || v > int64(end-p) { // a header takes two bytes at least
		return "number of headers", false
	}
	f.headerCount, f.headersStart = int(v), p
	if v != 0 {
		if p, ok = skipHeaders(b, p, int(v)); !ok {
			return "record header", false
		}
	}
	if p != end {
		return "record length", false
	}
	return "", true
}

func skipHeaders(b []byte, p, count int) (next int, ok bool) {
	for range count {
		n, q := varint(b, p)
		if q == 0 || n < 0 || n > int64(len(b)-q) {
			return 0, false
		}
		n, q = varint(b, q+int(n))
		if q == 0 || n > int64(len(b)-q) {
			return 0, false
		}
		p = q + int(max(n, 0))
	}
	return p, true
}

// Iterator walks over the records of one batch:
//
//	it := b.Records(limit)
//	defer it.Close()
//	for it.Next() {
//		use(it.Record())
//	}
//	return it.Err()
//
// What Record gave is valid until Close. An iterator is not for concurrent use, nor to be copied: two copies would give
// the same memory back.
type Iterator struct {
	batch Batch
	data  []byte // decompressed records
	at    int
	left  int32 // records still announced by the header
	rec   Record
	err   error
	buf   *buffer // pooled memory of data, nil for uncompressed batches
}

// Records iterates over the records. Those of a compressed batch are decompressed at once into pooled memory, at most
// limit bytes of them: more is [ErrTooLarge]. Errors of any kind come from [Iterator.Err] and are [ErrCorrupt].
func (b Batch) Records(limit int) Iterator {
	it := Iterator{batch: b, left: b.Count(), data: b.Payload()}
	if b.Codec() == None || b.Count() == 0 && len(it.data) == 0 {
		return it
	}
	it.buf = getBuffer()
	it.buf.b, it.err = b.Codec().Decompress(it.buf.b[:0], it.data, limit)
	it.data = it.buf.b
	return it
}

// Next moves to the next record and tells whether there is one.
func (it *Iterator) Next() bool {
	if it.err != nil {
		return false
	}
	if it.left == 0 {
		if it.at < len(it.data) {
			it.err = &CorruptError{Field: "bytes after the last record", Value: int64(len(it.data) - it.at), At: it.position()}
		}
		return false
	}
	var f frame
	if field, ok := parseFrame(it.data, it.at, &f); !ok {
		it.err = &CorruptError{Field: field, Value: int64(it.batch.Count() - it.left), At: it.position(), Err: errRecord}
		return false
	}
	if f.offsetDelta < 0 || f.offsetDelta > it.batch.LastOffsetDelta() {
		it.err = &CorruptError{Field: "offset delta", Value: int64(f.offsetDelta), At: it.position()}
		return false
	}
	d := it.data
	it.rec = Record{
		Offset: it.batch.BaseOffset() + kafka.Offset(f.offsetDelta), Timestamp: it.timestamp(f.timestampDelta),
		Key: f.key(d), Value: f.value(d), HeaderCount: f.headerCount, headers: d[f.headersStart:f.next],
	}
	it.at = f.next
	it.left--
	return true
}

// Record is the record that the last Next moved to. It is overwritten by the next one; what its slices view is not.
func (it *Iterator) Record() *Record { return &it.rec }

// Err is what ended the iteration early, nil when all records were read.
func (it *Iterator) Err() error { return it.err }

// Close gives the memory of decompressed records back; their slices are invalid from here.
func (it *Iterator) Close() {
	if it.buf != nil {
		it.buf.free()
	}
	it.buf, it.data, it.rec, it.left = nil, nil, Record{}, 0
}

// position is where the iterator stands, for errors: in the batch, or in the decompressed records.
func (it *Iterator) position() int {
	if it.buf != nil {
		return it.at
	}
	return HeaderSize + it.at
}

func (it *Iterator) timestamp(delta int64) kafka.Timestamp {
	if it.batch.TimestampType() == LogAppendTime {
		return it.batch.MaxTimestamp()
	}
	return it.batch.BaseTimestamp() + kafka.Timestamp(delta) // wraps round as clients' sums do
}
