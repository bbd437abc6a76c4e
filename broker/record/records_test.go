package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func header(t testing.TB, b record.Batch) record.Header {
	t.Helper()
	h, err := record.ParseHeader(b)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// checkRecords compares what the iterator gives with the records that were encoded, numbered from the base offset.
func checkRecords(t testing.TB, b record.Batch, want []rec) {
	t.Helper()
	it := b.Records(64 << 20)
	defer it.Close()
	i := 0
	for ; it.Next(); i++ {
		if i >= len(want) {
			t.Fatalf("more than %d records", len(want))
		}
		r, w := it.Record(), want[i]
		if r.Offset != b.BaseOffset()+kafka.Offset(i) || int64(r.Timestamp) != w.ts || !same(r.Key, w.key) || !same(r.Value, w.value) || r.HeaderCount != len(w.headers) {
			t.Errorf("record %d: %+v, want %+v", i, r, w)
		}
		n := 0
		for k, v := range r.Headers() {
			if string(k) != w.headers[n].Key || !same(v, w.headers[n].Value) {
				t.Errorf("record %d, header %d: %q=%q, want %+v", i, n, k, v, w.headers[n])
			}
			n++
		}
	}
	if it.Err() != nil || i != len(want) {
		t.Errorf("%d records and error %v, want %d", i, it.Err(), len(want))
	}
}

// same tells null and empty apart.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

func randomRecords(rnd *rand.Rand) []rec {
	blob := func() []byte {
		switch rnd.IntN(4) {
		case 0:
			return nil
		case 1:
			return []byte{}
		}
		b := make([]byte, rnd.IntN(300))
		for i := range b {
			b[i] = byte(rnd.IntN(1 + rnd.IntN(256)))
		}
		return b
	}
	rs := make([]rec, 1+rnd.IntN(50))
	for i := range rs {
		rs[i] = rec{ts: rnd.Int64N(1 << 42), key: blob(), value: blob()}
		for range rnd.IntN(3) {
			rs[i].headers = append(rs[i].headers, kmsg.Header{Key: string(blob()), Value: blob()})
		}
	}
	return rs
}

// The builder and kmsg must write the same bytes, and the iterator must read what went in.
func TestBuilderAgreesWithKmsg(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		rs := randomRecords(rnd)
		codec := allCodecs[rnd.IntN(len(allCodecs))]
		o := record.BuilderOptions{BaseOffset: kafka.Offset(rnd.Int64N(1 << 50)), LeaderEpoch: 3, Codec: codec, Idempotent: true, ProducerID: 9, ProducerEpoch: 1, BaseSequence: 4}
		b := record.NewBuilder(o)
		for _, r := range rs {
			var hs []record.RecordHeader
			for _, h := range r.headers {
				hs = append(hs, record.RecordHeader{Key: h.Key, Value: h.Value})
			}
			b.Add(kafka.Timestamp(r.ts), r.key, r.value, hs...)
		}
		got, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		want := sent(t, codec, rs, func(rb *kmsg.RecordBatch) {
			rb.FirstOffset, rb.PartitionLeaderEpoch, rb.ProducerID, rb.ProducerEpoch, rb.FirstSequence = int64(o.BaseOffset), 3, 9, 1, 4
		})
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %v batch of %d records differs from kmsg's:\n%x\n%x", seed, codec, len(rs), got, want)
		}
		checkRecords(t, got, rs)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestBuilderForCompaction(t *testing.T) {
	src := record.Batch(sent(t, record.None, three(), nil))
	src.SetBaseOffset(100)
	b := record.NewBuilder(record.BuilderOptions{BaseOffset: 100, LastOffset: 102, Codec: record.LZ4, DeleteHorizon: 777})
	it := src.Records(1 << 20)
	for it.Next() {
		if it.Record().Offset == 101 {
			b.AddRecord(it.Record())
		}
	}
	got, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := got.DeleteHorizon(); !ok || at != 777 || got.BaseOffset() != 100 || got.LastOffset() != 102 || got.Count() != 1 {
		t.Errorf("%+v, want offsets 100 to 102 with one record and a horizon", header(t, got))
	}
	it = got.Records(1 << 20)
	if !it.Next() || it.Record().Offset != 101 || it.Record().Timestamp != now+5 || string(it.Record().Key) != "b" || it.Next() || it.Err() != nil {
		t.Errorf("record %+v, error %v", it.Record(), it.Err())
	}

	b.Reset(record.BuilderOptions{BaseOffset: 100, LastOffset: 102, Codec: record.Zstd, Idempotent: true, ProducerID: 4, BaseSequence: 5})
	got, err = b.Build()
	if err != nil || got.Count() != 0 || got.Size() != record.HeaderSize || got.LastSequence() != 7 || got.BaseTimestamp() != -1 || got.MaxTimestamp() != -1 {
		t.Errorf("emptied batch: %+v, %v", header(t, got), err)
	}
	it = got.Records(10)
	if it.Next() || it.Err() != nil {
		t.Errorf("emptied batch has a record, or error %v", it.Err())
	}
	if _, err := record.NewBuilder(record.BuilderOptions{BaseOffset: 100, LastOffset: 99}).Build(); err == nil {
		t.Error("a last offset below the base offset must be refused")
	}
	b.Reset(record.BuilderOptions{BaseOffset: 100})
	b.AddRecord(&record.Record{Offset: 99})
	if _, err := b.Build(); err == nil {
		t.Error("a record below the base offset must be refused")
	}
}

func TestLogAppendTimeIsTheTimeOfAllRecords(t *testing.T) {
	b := record.Batch(sent(t, record.None, three(), nil))
	b.SetLogAppendTime(55)
	for it := b.Records(0); it.Next(); {
		if it.Record().Timestamp != 55 {
			t.Errorf("record at %d has time %d, want 55", it.Record().Offset, it.Record().Timestamp)
		}
	}
}

// Golden bytes: the marker that Kafka's transaction coordinator writes, worked out from its schema field by field.
func TestEndTxnMarkerBytes(t *testing.T) {
	m := record.EndTxnMarker{ProducerID: 0x0102, ProducerEpoch: 3, Commit: true, CoordinatorEpoch: 4, Timestamp: 0x1122}
	b := m.Batch()
	want := []byte{
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 66, 0, 0, 0, 0, 2, 0, 0, 0, 0, // base offset, length, epoch, magic, CRC
		0, 0x30, 0, 0, 0, 0, // transactional and control, last offset delta
		0, 0, 0, 0, 0, 0, 0x11, 0x22, 0, 0, 0, 0, 0, 0, 0x11, 0x22, // base and max timestamp
		0, 0, 0, 0, 0, 0, 1, 2, 0, 3, 255, 255, 255, 255, 0, 0, 0, 1, // producer, epoch, sequence -1, count
		32, 0, 0, 0, 8, 0, 0, 0, 1, 12, 0, 0, 0, 0, 0, 4, 0,
	}
	binary.BigEndian.PutUint32(want[17:], b.CRC())
	if !bytes.Equal(b, want) || !b.CheckCRC() {
		t.Errorf("marker is\n%x, want\n%x", b, want)
	}
	got, ok, err := b.EndTxn()
	if !ok || err != nil || got != m {
		t.Errorf("read back %+v, %v, %v, want %+v", got, ok, err, m)
	}
	if kind, ok, err := b.ControlKind(); kind != record.ControlCommit || !ok || err != nil {
		t.Errorf("kind %v, %v, %v", kind, ok, err)
	}
}

func TestControlBatchesThatEndNothing(t *testing.T) {
	control := func(key, value []byte) record.Batch {
		b := record.NewBuilder(record.BuilderOptions{Control: true})
		if key != nil {
			b.Add(0, key, value)
		}
		out, _ := b.Build()
		return out
	}
	for _, c := range []struct {
		name    string
		b       record.Batch
		corrupt bool
	}{
		{"emptied by compaction", control(nil, nil), false},
		{"leader change", control([]byte{0, 0, 0, 2}, []byte{1}), false},
		{"data", sent(t, record.None, three(), nil), false},
		{"short key", control([]byte{0, 0, 1}, []byte{0, 0, 0, 0, 0, 1}), true},
		{"short value", control([]byte{0, 0, 0, 1}, []byte{0, 0, 0, 0, 0}), true},
		{"negative version", control([]byte{255, 0, 0, 1}, []byte{0, 0, 0, 0, 0, 1}), true},
	} {
		if _, ok, err := c.b.EndTxn(); ok || errors.Is(err, record.ErrCorrupt) != c.corrupt {
			t.Errorf("%s: ok %v, error %v", c.name, ok, err)
		}
	}
}
