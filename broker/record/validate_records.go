package record

import (
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// checkRecords walks the framing of the records, decompressed if need be, and encodes them anew where the rules ask for
// another codec. It sets Converted, Batch and MaxTimestamp of info.
func checkRecords(info *ProduceInfo, rules *ProduceRules) *Refusal {
	b := info.Batch
	trusted := rules.Origin == FromCoordinator
	// An uncompressed control batch stays so: whoever looks for markers does not decompress.
	convert := rules.Compression.Convert && rules.Compression.Codec != b.Codec() && !(b.IsControl() && b.Codec() == None)
	if trusted && !convert {
		return nil
	}
	data := b.Payload()
	if codec := b.Codec(); codec != None {
		limit := rules.MaxInflatedBytes
		if limit <= 0 {
			limit = DefaultMaxInflatedBytes
		}
		buf := getBuffer()
		defer buf.free()
		var err error
		if buf.b, err = codec.Decompress(buf.b, data, limit); err != nil {
			if errors.Is(err, ErrTooLarge) {
				return refuse(kafka.MessageTooLarge, "the batch's records take more than %d bytes, decompressed", limit)
			}
			return refuse(kafka.InvalidRecord, "%v", err)
		}
		data = buf.b
	}
	if !trusted {
		w := walk{batch: b, compacted: rules.Compacted, topicType: rules.TimestampType}
		w.least, w.most = rules.bounds()
		if refusal := w.records(data); refusal != nil {
			return refusal
		}
		info.MaxTimestamp = w.max
		if !convert && !w.misnumbered {
			return nil
		}
	}
	codec, level := b.Codec(), 0
	if rules.Compression.Convert {
		codec, level = rules.Compression.Codec, rules.Compression.Level
	}
	batch, err := rebuild(b, data, rules, codec, level)
	if err != nil {
		return refuse(kafka.InvalidRecord, "%v", err)
	}
	info.Batch, info.Converted = batch, true
	return nil
}

// walk is one pass over the records of a batch. It holds copies of the rules, not a pointer: what it refuses escapes to
// the heap, and would take the rules of every good batch with it.
type walk struct {
	batch       Batch
	compacted   bool
	topicType   TimestampType
	least, most int64 // timestamps allowed, both ends included

	max         kafka.Timestamp
	misnumbered bool // offset deltas are not 0, 1, 2, …

	errors       []RecordError // what is wrong with single records
	badTimestamp bool
}

var (
	errNoKey      = errors.New("a record without key cannot be in a compacted topic")
	errAppendTime = errors.New("a producer must not set the timestamp type LogAppendTime")
	errTimestamp  = errors.New("its timestamp is out of bounds")
)

// records looks at each record's own timestamp even if the producer set the type LogAppendTime, which says that the
// header's holds for all: where that is not refused, the type is taken away and their own are what consumers see.
func (w *walk) records(data []byte) *Refusal {
	var (
		at         int
		count      = w.batch.Count()
		base       = int64(w.batch.BaseTimestamp())
		appendTime = w.batch.TimestampType() == LogAppendTime
		maximum    = int64(kafka.NoTimestamp)
	)
	for i := range count {
		next, timestampDelta, offsetDelta, hasKey := skim(data, at)
		if next == 0 {
			var f frame
			if field, ok := parseFrame(data, at, &f); !ok {
				return refuse(kafka.InvalidRecord, "record %d of %d is malformed: %s", i, count, field)
			}
			next, timestampDelta, offsetDelta, hasKey = f.next, f.timestampDelta, f.offsetDelta, f.keyEnd >= 0
		}
		at = next
		if offsetDelta != i {
			w.misnumbered = true
		}
		ts := base + timestampDelta
		if ts > maximum {
			maximum = ts
		}
		switch {
		case w.compacted && !hasKey:
			w.fail(i, ts, errNoKey)
		case (ts < w.least || ts > w.most) && ts != int64(kafka.NoTimestamp):
			w.fail(i, ts, errTimestamp)
		case appendTime && (w.topicType == LogAppendTime || ts == int64(kafka.NoTimestamp)):
			w.fail(i, ts, errAppendTime)
		}
	}
	if at != len(data) {
		return refuse(kafka.InvalidRecord, "%d bytes follow the last of %d records", len(data)-at, count)
	}
	w.max = kafka.Timestamp(maximum)
	return w.refusal()
}

func (w *walk) fail(index int32, ts int64, why error) {
	w.badTimestamp = w.badTimestamp || why != errNoKey
	if len(w.errors) >= MaxRecordErrors {
		return
	}
	message := why.Error()
	if why == errTimestamp {
		message = fmt.Sprintf("timestamp %d is not within [%d, %d]", ts, w.least, w.most)
	}
	w.errors = append(w.errors, RecordError{Index: index, Message: message})
}

func (w *walk) refusal() *Refusal {
	if len(w.errors) == 0 {
		return nil
	}
	r := refuse(kafka.InvalidRecord, "%d records were refused (at most %d are named), the first because %s", len(w.errors), MaxRecordErrors, w.errors[0].Message)
	if w.badTimestamp {
		r.Code, r.Message = kafka.InvalidTimestamp, "one or more records were refused because of their timestamps"
	}
	r.RecordErrors = w.errors
	return r
}

// rebuild encodes the decompressed records anew, numbered from 0, as a batch of its own memory.
func rebuild(b Batch, data []byte, rules *ProduceRules, codec Codec, level int) (Batch, error) {
	o := BuilderOptions{
		Codec: codec, Level: level, Idempotent: b.HasProducer(), ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(),
		BaseSequence: b.BaseSequence(), Transactional: b.IsTransactional(), Control: b.IsControl(),
	}
	if rules.TimestampType == LogAppendTime {
		o.LogAppendTime = rules.Now
	}
	builder := NewBuilder(o)
	var f frame
	at := 0
	for i := range b.Count() {
		if field, ok := parseFrame(data, at, &f); !ok {
			return nil, &CorruptError{Field: field, Value: int64(i), At: at, Err: errRecord}
		}
		ts := b.BaseTimestamp() + kafka.Timestamp(f.timestampDelta)
		builder.add(kafka.Offset(i), ts, f.key(data), f.value(data), encodedHeaders{f.headerCount, data[f.headersStart:f.next]})
		at = f.next
	}
	return builder.Build()
}
