package seglog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// small are settings under which a log of kilobytes has many segments and index entries.
func small() Config {
	return Config{
		Delete: true, MaxMessageBytes: 1 << 20, SegmentBytes: 1000, SegmentMs: 1 << 40, SegmentIndexBytes: 1 << 20, IndexIntervalBytes: 150,
		RetentionMs: -1, RetentionBytes: -1, DeleteRetentionMs: 1000, MaxCompactionLagMs: 1 << 60,
	}
}

var topic = kafka.TopicID{1, 2, 3}

const day = kafka.Timestamp(24 * 3600 * 1000)

// base is the clock of the tests.
const now0 = 20_000 * day

type batchSpec struct {
	at     kafka.Offset
	epoch  kafka.LeaderEpoch
	ts     kafka.Timestamp
	values []string
	keys   []string
	opts   record.BuilderOptions
}

func (s batchSpec) build(t testing.TB) record.Batch {
	t.Helper()
	o := s.opts
	o.BaseOffset, o.LeaderEpoch = s.at, s.epoch
	b := record.NewBuilder(o)
	for i, v := range s.values {
		var key, value []byte
		if i < len(s.keys) {
			key = []byte(s.keys[i])
		}
		if v != "" {
			value = []byte(v)
		}
		b.Add(s.ts+kafka.Timestamp(i), key, value)
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// plain is a batch of n records whose values tell their offsets.
func plain(t testing.TB, at kafka.Offset, n int, ts kafka.Timestamp) record.Batch {
	s := batchSpec{at: at, ts: ts}
	for i := range n {
		s.values = append(s.values, fmt.Sprintf("value %d", int(at)+i))
	}
	return s.build(t)
}

func mustOpen(t testing.TB, fs vfs.FS, o Options) (*Log, RecoveryReport) {
	t.Helper()
	if o.Config.SegmentBytes == 0 {
		o.Config = small()
	}
	if o.Now == 0 {
		o.Now = now0
	}
	o.TopicID = topic
	l, r, err := Open(fs, "data/t-0", o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return l, r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readAll reads as a consumer does, and checks what a consumer would trip over.
func readAll(t testing.TB, l *Log) string {
	t.Helper()
	var out strings.Builder
	for at := l.StartOffset(); at < l.EndOffset(); {
		s, err := l.Read(ReadRequest{From: at, Limit: l.EndOffset(), MaxBytes: 300, AtLeastOneBatch: true})
		if err != nil {
			t.Fatalf("read at %d of [%d, %d): %v", at, l.StartOffset(), l.EndOffset(), err)
		}
		if s.Len == 0 {
			fmt.Fprintf(&out, "gap to the end %d\n", l.EndOffset())
			break
		}
		data, err := s.Bytes()
		must(t, err)
		if s.NextOffset <= at {
			t.Fatalf("read at %d goes on at %d", at, s.NextOffset)
		}
		at = s.NextOffset
		s.Release()
		out.WriteString(dump(t, data, l.StartOffset()))
	}
	return out.String()
}

// dump prints the records of batches from an offset on.
func dump(t testing.TB, data []byte, from kafka.Offset) string {
	t.Helper()
	var out strings.Builder
	for len(data) > 0 {
		b, rest, err := record.Next(data)
		if err != nil {
			t.Fatalf("batch in a slice: %v", err)
		}
		data = rest
		if !b.CheckCRC() {
			t.Fatalf("batch at %d: bad checksum", b.BaseOffset())
		}
		if b.IsControl() {
			fmt.Fprintf(&out, "%d control\n", b.BaseOffset())
			continue
		}
		it := b.Records(1 << 20)
		for it.Next() {
			if r := it.Record(); r.Offset >= from {
				fmt.Fprintf(&out, "%d %s=%s\n", r.Offset, r.Key, r.Value)
			}
		}
		must(t, it.Err())
		it.Close()
	}
	return out.String()
}
