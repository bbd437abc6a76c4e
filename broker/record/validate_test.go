package record_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rec is a record as a producer would encode it with another library.
type rec struct {
	ts         int64
	key, value []byte
	delta      int32 // offset delta, if not its index
	headers    []kmsg.Header
}

// payload encodes records with kmsg, counting timestamps from the first one's.
func payload(rs []rec) []byte {
	var out []byte
	for i, r := range rs {
		k := kmsg.NewRecord()
		k.TimestampDelta64, k.OffsetDelta = r.ts-rs[0].ts, int32(i)
		if r.delta != 0 {
			k.OffsetDelta = r.delta
		}
		k.Key, k.Value, k.Headers = r.key, r.value, r.headers
		body := k.AppendTo(nil)
		out = binary.AppendVarint(out, int64(len(body)-1)) // AppendTo wrote a length of 0 in one byte
		out = append(out, body[1:]...)
	}
	return out
}

// sent is a batch as a producer sends it; change may spoil the header before length and checksum are set.
func sent(t testing.TB, codec record.Codec, rs []rec, change func(*kmsg.RecordBatch)) []byte {
	t.Helper()
	rb := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, Attributes: int16(codec), LastOffsetDelta: int32(len(rs) - 1),
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: int32(len(rs)), MaxTimestamp: -1,
	}
	if len(rs) > 0 {
		rb.FirstTimestamp = rs[0].ts
	}
	for _, r := range rs {
		rb.MaxTimestamp = max(rb.MaxTimestamp, r.ts)
	}
	rb.Records = compressed(t, codec, payload(rs))
	if change != nil {
		change(&rb)
	}
	return encode(rb)
}

func compressed(t testing.TB, codec record.Codec, raw []byte) []byte {
	t.Helper()
	out, err := codec.Compress(nil, raw, 0)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const now = 1_700_000_000_000

// plainRules are a topic's defaults.
func plainRules() record.ProduceRules {
	return record.ProduceRules{
		Version: 9, MaxMessageBytes: 1 << 20, SegmentBytes: 1 << 30, BeforeMaxMs: math.MaxInt64, AfterMaxMs: 3_600_000, Now: now,
	}
}

func three() []rec {
	return []rec{{ts: now, key: []byte("a"), value: []byte("1")}, {ts: now + 5, key: []byte("b")}, {ts: now - 7, value: []byte("3"),
		headers: []kmsg.Header{{Key: "h", Value: []byte("v")}, {Key: "", Value: nil}}}}
}

var allCodecs = []record.Codec{record.None, record.Gzip, record.Snappy, record.LZ4, record.Zstd}

func TestRefusals(t *testing.T) {
	plain := func(change func(*kmsg.RecordBatch)) []byte { return sent(t, record.None, three(), change) }
	good := plain(nil)
	poke := func(at int, v ...byte) []byte { // after the checksum
		b := bytes.Clone(good)
		copy(b[at:], v)
		return b
	}
	for _, c := range []struct {
		name  string
		in    []byte
		rules func(*record.ProduceRules)
		code  kafka.ErrorCode
	}{
		{"a good batch", good, nil, kafka.None},
		{"nothing", nil, nil, kafka.InvalidRecord},
		{"a batch cut short", good[:len(good)-1], nil, kafka.InvalidRecord},
		{"a header cut short", good[:30], nil, kafka.InvalidRecord},
		{"two batches", slices.Concat(good, good), nil, kafka.InvalidRecord},
		{"a batch and the start of another", slices.Concat(good, good[:80]), nil, kafka.None},
		{"a batch and a few bytes", slices.Concat(good, []byte("xyz")), nil, kafka.None},
		{"length 0", poke(8, 0, 0, 0, 0), nil, kafka.CorruptMessage},
		{"length 10", poke(8, 0, 0, 0, 10), nil, kafka.CorruptMessage},
		{"length 40", poke(8, 0, 0, 0, 40), nil, kafka.CorruptMessage},
		{"length -1", poke(8, 255, 255, 255, 255), nil, kafka.CorruptMessage},
		{"length 2^31-1", poke(8, 127, 255, 255, 255), nil, kafka.CorruptMessage},
		{"length beyond the request", poke(8, 0, 16, 0, 0), nil, kafka.InvalidRecord},
		{"magic 1", poke(16, 1), nil, kafka.InvalidRecord},
		{"magic 3", poke(16, 3), nil, kafka.CorruptMessage},
		{"a bit of the checksum flipped", poke(17, good[17]^1), nil, kafka.CorruptMessage},
		{"a bit of a value flipped", poke(len(good)-3, good[len(good)-3]^1), nil, kafka.CorruptMessage},
		{"base offset 1", plain(func(rb *kmsg.RecordBatch) { rb.FirstOffset = 1 }), nil, kafka.InvalidRecord},
		{"base offset -1", plain(func(rb *kmsg.RecordBatch) { rb.FirstOffset = -1 }), nil, kafka.InvalidRecord},
		{"any leader epoch", plain(func(rb *kmsg.RecordBatch) { rb.PartitionLeaderEpoch = -100 }), nil, kafka.None},
		{"no records", plain(func(rb *kmsg.RecordBatch) { rb.NumRecords, rb.LastOffsetDelta, rb.Records = 0, -1, nil }), nil, kafka.InvalidRecord},
		{"count 0, delta 0", plain(func(rb *kmsg.RecordBatch) { rb.NumRecords, rb.LastOffsetDelta, rb.Records = 0, 0, nil }), nil, kafka.InvalidRecord},
		{"count and delta disagree", plain(func(rb *kmsg.RecordBatch) { rb.LastOffsetDelta = 3 }), nil, kafka.InvalidRecord},
		{"fewer records than announced", plain(func(rb *kmsg.RecordBatch) { rb.NumRecords, rb.LastOffsetDelta = 4, 3 }), nil, kafka.InvalidRecord},
		{"more records than announced", plain(func(rb *kmsg.RecordBatch) { rb.NumRecords, rb.LastOffsetDelta = 2, 1 }), nil, kafka.InvalidRecord},
		{"count and delta of 2^31-1", plain(func(rb *kmsg.RecordBatch) { rb.NumRecords, rb.LastOffsetDelta = math.MaxInt32, math.MaxInt32-1 }), nil, kafka.InvalidRecord},
		{"a record's length beyond the batch", plain(func(rb *kmsg.RecordBatch) { rb.Records = slices.Concat([]byte{0xfe, 0xff, 0x7f}, rb.Records[1:]) }), nil, kafka.InvalidRecord},
		{"control batch", plain(func(rb *kmsg.RecordBatch) { rb.Attributes |= 0x20 }), nil, kafka.InvalidRecord},
		{"producer without sequence", plain(func(rb *kmsg.RecordBatch) { rb.ProducerID = 5 }), nil, kafka.InvalidRecord},
		{"producer with sequence", plain(func(rb *kmsg.RecordBatch) { rb.ProducerID, rb.FirstSequence = 5, 0 }), nil, kafka.None},
		{"codec 5", plain(func(rb *kmsg.RecordBatch) { rb.Attributes |= 5 }), nil, kafka.InvalidRecord},
		{"zstd by Produce 6", sent(t, record.Zstd, three(), nil), func(r *record.ProduceRules) { r.Version = 6 }, kafka.UnsupportedCompressionType},
		{"zstd by Produce 7", sent(t, record.Zstd, three(), nil), func(r *record.ProduceRules) { r.Version = 7 }, kafka.None},
		{"of exactly the limit", good, func(r *record.ProduceRules) { r.MaxMessageBytes = len(good) }, kafka.None},
		{"one byte above the limit", good, func(r *record.ProduceRules) { r.MaxMessageBytes = len(good) - 1 }, kafka.MessageTooLarge},
		{"of exactly a segment", good, func(r *record.ProduceRules) { r.SegmentBytes = len(good) }, kafka.None},
		{"larger than a segment", good, func(r *record.ProduceRules) { r.SegmentBytes = len(good) - 1 }, kafka.RecordListTooLarge},
		{"larger than both", good, func(r *record.ProduceRules) { r.SegmentBytes, r.MaxMessageBytes = 60, 60 }, kafka.MessageTooLarge},
		{"too large and damaged", poke(17, good[17]^1), func(r *record.ProduceRules) { r.MaxMessageBytes = 60 }, kafka.MessageTooLarge},
	} {
		rules := plainRules()
		if c.rules != nil {
			c.rules(&rules)
		}
		info, refusal := record.ValidateProduce(bytes.Clone(c.in), rules)
		got := kafka.None
		if refusal != nil {
			got = refusal.Code
		}
		if got != c.code {
			t.Errorf("%s: %v (%+v), want %v", c.name, got, refusal, c.code)
		}
		if c.code == kafka.None && (info.Batch.Size() != len(good) && info.Batch.Codec() == record.None || info.AppendTime != -1 || info.Converted) {
			t.Errorf("%s: %d bytes, append time %d, converted %v", c.name, info.Batch.Size(), info.AppendTime, info.Converted)
		}
	}
}

// What is wrong inside a compressed batch is found as in an uncompressed one.
func TestRefusalsInsideCompressedBatches(t *testing.T) {
	for _, codec := range allCodecs {
		for _, c := range []struct {
			name   string
			change func(*kmsg.RecordBatch)
			code   kafka.ErrorCode
		}{
			{"good", func(*kmsg.RecordBatch) {}, kafka.None},
			{"fewer records than announced", func(rb *kmsg.RecordBatch) { rb.NumRecords, rb.LastOffsetDelta = 4, 3 }, kafka.InvalidRecord},
			{"more records than announced", func(rb *kmsg.RecordBatch) { rb.NumRecords, rb.LastOffsetDelta = 2, 1 }, kafka.InvalidRecord},
			{"garbage", func(rb *kmsg.RecordBatch) { rb.Records = []byte("neither compressed nor a record") }, kafka.InvalidRecord},
			{"cut", func(rb *kmsg.RecordBatch) { rb.Records = rb.Records[:len(rb.Records)/2] }, kafka.InvalidRecord},
			{"nothing", func(rb *kmsg.RecordBatch) { rb.Records = nil }, kafka.InvalidRecord},
		} {
			_, refusal := record.ValidateProduce(sent(t, codec, three(), c.change), plainRules())
			if got := codeOf(refusal); got != c.code {
				t.Errorf("%v, %s: %v, want %v", codec, c.name, got, c.code)
			}
		}
	}
}

func codeOf(r *record.Refusal) kafka.ErrorCode {
	if r == nil {
		return kafka.None
	}
	return r.Code
}

func TestRecordsThatAreWrongAreNamed(t *testing.T) {
	hour := int64(3_600_000)
	for _, codec := range allCodecs {
		for _, c := range []struct {
			name    string
			records []rec
			attrs   int16
			rules   func(*record.ProduceRules)
			code    kafka.ErrorCode
			indexes []int32
		}{
			{"null keys in a compacted topic", []rec{{ts: now}, {ts: now, key: []byte("k")}, {ts: now}, {ts: now, key: []byte{}}}, 0,
				func(r *record.ProduceRules) { r.Compacted = true }, kafka.InvalidRecord, []int32{0, 2}},
			{"too far ahead", []rec{{ts: now + hour}, {ts: now + hour + 1}}, 0, nil, kafka.InvalidTimestamp, []int32{1}},
			{"too long ago", []rec{{ts: now - 11}, {ts: now - 10}, {ts: -1}}, 0, func(r *record.ProduceRules) { r.BeforeMaxMs = 10 }, kafka.InvalidTimestamp, []int32{0}},
			{"any time when there are no bounds", []rec{{ts: 0}, {ts: math.MaxInt64}}, 0, func(r *record.ProduceRules) { r.AfterMaxMs = math.MaxInt64 }, kafka.None, nil},
			{"no timestamp", []rec{{ts: -1}, {ts: -1}}, 0, func(r *record.ProduceRules) { r.BeforeMaxMs = 10 }, kafka.None, nil},
			{"null key and bad time", []rec{{ts: now}, {ts: now + hour + 1, key: []byte("k")}}, 0,
				func(r *record.ProduceRules) { r.Compacted = true }, kafka.InvalidTimestamp, []int32{0, 1}},
			{"any time with LogAppendTime", []rec{{ts: now + 2*hour}, {ts: 0}}, 0,
				func(r *record.ProduceRules) { r.TimestampType = record.LogAppendTime; r.BeforeMaxMs = 1 }, kafka.None, nil},
			{"LogAppendTime set by the producer", []rec{{ts: now}, {ts: now}}, 8,
				func(r *record.ProduceRules) { r.TimestampType = record.LogAppendTime }, kafka.InvalidTimestamp, []int32{0, 1}},
			{"LogAppendTime set by the producer, topic with CreateTime", []rec{{ts: now}, {ts: now}}, 8, nil, kafka.None, nil},
		} {
			rules := plainRules()
			if c.rules != nil {
				c.rules(&rules)
			}
			raw := sent(t, codec, c.records, func(rb *kmsg.RecordBatch) { rb.Attributes |= c.attrs })
			info, refusal := record.ValidateProduce(raw, rules)
			var indexes []int32
			if refusal != nil {
				for _, e := range refusal.RecordErrors {
					indexes = append(indexes, e.Index)
				}
			}
			if codeOf(refusal) != c.code || !slices.Equal(indexes, c.indexes) {
				t.Errorf("%v, %s: %v with records %v, want %v with %v", codec, c.name, codeOf(refusal), indexes, c.code, c.indexes)
			}
			if refusal == nil && (!info.Batch.CheckCRC() || info.Batch.TimestampType() != rules.TimestampType) {
				t.Errorf("%v, %s: stored with type %v, checksum ok: %v", codec, c.name, info.Batch.TimestampType(), info.Batch.CheckCRC())
			}
		}
	}
}

func TestRecordErrorsAreBounded(t *testing.T) {
	rs := make([]rec, record.MaxRecordErrors+5)
	for i := range rs {
		rs[i].ts = now
	}
	rules := plainRules()
	rules.Compacted = true
	if _, refusal := record.ValidateProduce(sent(t, record.None, rs, nil), rules); refusal == nil || len(refusal.RecordErrors) != record.MaxRecordErrors {
		t.Errorf("refusal %v, want one that names %d records", refusal, record.MaxRecordErrors)
	}
}

func TestLogAppendTimeChangesHeaderAlone(t *testing.T) {
	for _, codec := range allCodecs {
		raw := sent(t, codec, three(), nil)
		rules := plainRules()
		rules.TimestampType = record.LogAppendTime
		info, refusal := record.ValidateProduce(bytes.Clone(raw), rules)
		if refusal != nil {
			t.Fatal(refusal)
		}
		want := record.Batch(bytes.Clone(raw))
		want.SetLogAppendTime(now)
		if !bytes.Equal(info.Batch, want) || info.AppendTime != now || info.MaxTimestamp != now {
			t.Errorf("%v: batch differs by more than type, time and checksum; append time %d, max %d", codec, info.AppendTime, info.MaxTimestamp)
		}
	}
}

func TestWrongMaxTimestampIsCorrected(t *testing.T) {
	for _, codec := range allCodecs {
		info, refusal := record.ValidateProduce(sent(t, codec, three(), func(rb *kmsg.RecordBatch) { rb.MaxTimestamp = 9 }), plainRules())
		if refusal != nil || info.MaxTimestamp != now+5 || info.Batch.MaxTimestamp() != now+5 || !info.Batch.CheckCRC() {
			t.Errorf("%v: refusal %v, max timestamp %d, want %d with a new checksum", codec, refusal, info.Batch.MaxTimestamp(), now+5)
		}
	}
}

func TestConversion(t *testing.T) {
	wrong := three()
	wrong[1].delta, wrong[2].delta = 7, 9
	for _, from := range allCodecs {
		for _, to := range allCodecs {
			for _, rs := range [][]rec{three(), wrong} {
				rules := plainRules()
				rules.Compression = record.Compression{Convert: true, Codec: to}
				change := func(rb *kmsg.RecordBatch) {
					rb.ProducerID, rb.ProducerEpoch, rb.FirstSequence, rb.Attributes = 5, 2, 11, rb.Attributes|0x10
				}
				info, refusal := record.ValidateProduce(sent(t, from, rs, change), rules)
				if refusal != nil {
					t.Fatalf("%v to %v: %v", from, to, refusal)
				}
				b := info.Batch
				if info.Converted != (from != to || rs[1].delta != 0) || b.Codec() != to || !b.CheckCRC() || b.ProducerID() != 5 ||
					b.ProducerEpoch() != 2 || b.BaseSequence() != 11 || !b.IsTransactional() || b.MaxTimestamp() != now+5 {
					t.Errorf("%v to %v: converted %v, %+v", from, to, info.Converted, header(t, b))
				}
				checkRecords(t, b, three())
			}
		}
	}
}

func TestSizeIsJudgedAgainAfterConversion(t *testing.T) {
	zeros := sent(t, record.Gzip, []rec{{ts: now, value: make([]byte, 5<<20)}}, nil)
	rules := plainRules()
	rules.MaxMessageBytes, rules.Compression = 100_000, record.Compression{Convert: true, Codec: record.None}
	if _, refusal := record.ValidateProduce(zeros, rules); codeOf(refusal) != kafka.MessageTooLarge {
		t.Errorf("5 MB of zeros to be stored uncompressed: %v, want %v", codeOf(refusal), kafka.MessageTooLarge)
	}
	rules.Compression = record.Compression{Convert: true, Codec: record.Zstd}
	big := sent(t, record.None, []rec{{ts: now, value: make([]byte, 150_000)}}, nil)
	if _, refusal := record.ValidateProduce(big, rules); codeOf(refusal) != kafka.MessageTooLarge {
		t.Errorf("150 KB to be stored in less: %v, want %v as sent", codeOf(refusal), kafka.MessageTooLarge)
	}
}

func TestDecompressionBombIsTooLarge(t *testing.T) {
	rules := plainRules()
	rules.MaxInflatedBytes = 1 << 20
	for _, codec := range allCodecs[1:] {
		for size, want := range map[int]kafka.ErrorCode{1<<20 - 20: kafka.None, 1 << 20: kafka.MessageTooLarge, 20 << 20: kafka.MessageTooLarge} {
			raw := sent(t, codec, []rec{{ts: now, value: make([]byte, size)}}, nil)
			if len(raw) > rules.MaxMessageBytes {
				continue // snappy cannot
			}
			if _, refusal := record.ValidateProduce(raw, rules); codeOf(refusal) != want {
				t.Errorf("%v, %d bytes under a limit of %d: %v, want %v", codec, size, rules.MaxInflatedBytes, refusal, want)
			}
		}
	}
}

// Coordinators write markers and batches without keys into compacted topics.
func TestCoordinatorsAreTrusted(t *testing.T) {
	rules := plainRules()
	rules.Origin, rules.Compacted, rules.TimestampType = record.FromCoordinator, true, record.LogAppendTime
	rules.Compression = record.Compression{Convert: true, Codec: record.Zstd}
	b := record.EndTxnMarker{ProducerID: 5, ProducerEpoch: 1, Commit: true, CoordinatorEpoch: 3, Timestamp: 1}.Batch()
	info, refusal := record.ValidateProduce(b, rules)
	if refusal != nil || info.Converted {
		t.Fatalf("marker: refusal %v, converted %v, want it stored as it is", refusal, info.Converted)
	}
	if m, ok, err := info.Batch.EndTxn(); !ok || err != nil || m.Timestamp != now || m.CoordinatorEpoch != 3 || !m.Commit {
		t.Errorf("marker %+v, %v, %v", m, ok, err)
	}
	rules.MaxMessageBytes = 70
	if _, refusal := record.ValidateProduce(b, rules); codeOf(refusal) != kafka.MessageTooLarge {
		t.Errorf("marker above the limit: %v", refusal)
	}
}
