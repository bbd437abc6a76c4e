package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func addSeeds(f *testing.F) {
	for _, codec := range allCodecs {
		f.Add(sent(f, codec, three(), nil))
		f.Add(sent(f, codec, three(), func(rb *kmsg.RecordBatch) { rb.Records = rb.Records[:len(rb.Records)-2] }))
	}
	f.Add([]byte(record.EndTxnMarker{ProducerID: 1, Commit: true}.Batch()))
	f.Add([]byte{})
}

// Whatever the bytes are: batches are cut without overlap, the errors are of the kinds promised, and reading records
// stays inside the batch and ends.
func FuzzNextAndRecords(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		for rest := b; ; {
			before := len(rest)
			batch, after, err := record.Next(rest)
			if err != nil {
				if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, record.ErrCorrupt) {
					t.Fatalf("error of an unknown kind: %v", err)
				}
				return
			}
			if len(batch) < record.HeaderSize || len(batch)+len(after) != before || batch.NextOffset() <= batch.BaseOffset() {
				t.Fatalf("batch of %d bytes and a rest of %d out of %d", len(batch), len(after), before)
			}
			h, err := record.ParseHeader(batch[:record.HeaderSize])
			if err != nil || h.Size != len(batch) || h.NextOffset() != batch.NextOffset() {
				t.Fatalf("header %+v, error %v", h, err)
			}
			_, _, _ = batch.EndTxn()
			_, _, _ = batch.ControlKind()
			readAll(t, batch)
			rest = after
		}
	})
}

func readAll(t *testing.T, batch record.Batch) int {
	const limit = 1 << 20
	it := batch.Records(limit)
	defer it.Close()
	n, size := 0, 0
	for it.Next() {
		r := it.Record()
		n, size = n+1, size+len(r.Key)+len(r.Value)
		for k, v := range r.Headers() {
			size += len(k) + len(v)
		}
		if r.Offset < batch.BaseOffset() || r.Offset > batch.LastOffset() {
			t.Fatalf("record at %d in a batch of [%d, %d]", r.Offset, batch.BaseOffset(), batch.LastOffset())
		}
	}
	if err := it.Err(); err != nil && !errors.Is(err, record.ErrCorrupt) {
		t.Fatalf("error of an unknown kind: %v", err)
	}
	if size > max(limit, len(batch)) {
		t.Fatalf("%d bytes of records under a limit of %d", size, limit)
	}
	return n
}

// A batch that is accepted can be read by everybody: as many records as it says, at offsets 0, 1, 2, …, with its max
// timestamp, and it is accepted again. The fuzzer cannot guess a checksum, so it is set here.
func FuzzValidateProduce(f *testing.F) {
	for _, codec := range allCodecs {
		for flags := range byte(32) {
			f.Add(sent(f, codec, three(), nil), flags)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, flags byte) {
		if len(b) >= record.HeaderSize && flags&16 == 0 {
			binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
			b[16] = 2
			rewriteCRC(b)
		}
		rules := plainRules()
		rules.MaxInflatedBytes, rules.Compacted = 1<<20, flags&1 != 0
		if flags&2 != 0 {
			rules.TimestampType = record.LogAppendTime
		}
		if flags&4 != 0 {
			rules.BeforeMaxMs, rules.AfterMaxMs = 1000, math.MaxInt64
		}
		if flags&8 != 0 {
			rules.Compression = record.Compression{Convert: true, Codec: record.Codec(flags>>5) % 5}
		}
		info, refusal := record.ValidateProduce(bytes.Clone(b), rules)
		if refusal != nil {
			if refusal.Code == kafka.None || refusal.Message == "" {
				t.Fatalf("refusal %+v", refusal)
			}
			return
		}
		batch := info.Batch
		if !batch.CheckCRC() || batch.MaxTimestamp() != info.MaxTimestamp || batch.TimestampType() != rules.TimestampType {
			t.Fatalf("accepted batch %+v with info %+v", header(t, batch), info)
		}
		it := batch.Records(4 << 20)
		defer it.Close()
		n, maximum := kafka.Offset(0), kafka.NoTimestamp
		for it.Next() {
			if it.Record().Offset != n || rules.Compacted && it.Record().Key == nil {
				t.Fatalf("accepted record %d at %d with key %v", n, it.Record().Offset, it.Record().Key)
			}
			maximum = max(maximum, it.Record().Timestamp)
			n++
		}
		if it.Err() != nil || int32(n) != batch.Count() || maximum != batch.MaxTimestamp() {
			t.Fatalf("accepted batch has %d records up to time %d and error %v: %+v", n, maximum, it.Err(), header(t, batch))
		}
		batch.SetLogAppendTime(3) // its type is then the broker's, which a producer may not set where the topic does
		rules.TimestampType = record.CreateTime
		rules.BeforeMaxMs, rules.AfterMaxMs = math.MaxInt64, math.MaxInt64
		if _, refusal := record.ValidateProduce(batch, rules); refusal != nil {
			t.Fatalf("accepted batch is refused: %+v", refusal)
		}
	})
}

func rewriteCRC(b []byte) { binary.BigEndian.PutUint32(b[17:], crcOf(b[21:])) }

// Decompressors get bytes that no checksum guards when a segment is damaged.
func FuzzDecompress(f *testing.F) {
	for _, codec := range allCodecs {
		z, _ := codec.Compress(nil, bytes.Repeat([]byte("some text "), 50), 0)
		f.Add(byte(codec), z)
	}
	f.Fuzz(func(t *testing.T, codec byte, z []byte) {
		const limit = 1 << 20
		out, err := record.Codec(codec%6).Decompress([]byte("kept"), z, limit)
		if err != nil && !errors.Is(err, record.ErrCorrupt) || len(out) > limit+4 || string(out[:4]) != "kept" {
			t.Fatalf("%d bytes, error %v", len(out), err)
		}
	})
}
