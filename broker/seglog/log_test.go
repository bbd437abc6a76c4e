package seglog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

func fill(t testing.TB, l *Log, batches, records int) string {
	t.Helper()
	var want strings.Builder
	for i := range batches {
		at := l.EndOffset()
		must(t, l.Append(plain(t, at, records, now0+kafka.Timestamp(i*1000)), now0))
		for n := range records {
			fmt.Fprintf(&want, "%d =value %d\n", int(at)+n, int(at)+n)
		}
	}
	return want.String()
}

func TestAppendReadReopen(t *testing.T) {
	for _, c := range []struct {
		name string
		fs   vfs.FS
		dir  string
	}{{"os", vfs.OS(), t.TempDir()}, {"mem", vfs.NewMem(1), "data"}} {
		t.Run(c.name, func(t *testing.T) {
			must(t, c.fs.MkdirAll(c.dir))
			o := Options{Config: small(), Now: now0, TopicID: topic}
			l, r, err := Open(c.fs, c.dir+"/t-0", o)
			must(t, err)
			if !r.Created {
				t.Error("a new log was not created")
			}
			want := fill(t, l, 50, 3)
			if got := readAll(t, l); got != want {
				t.Fatalf("read\n%s\nwant\n%s", got, want)
			}
			if n := len(l.Segments()); n < 5 {
				t.Errorf("%d segments", n)
			}
			must(t, l.Close())
			o.Clean, o.RecoveryPoint = true, l.RecoveryPoint()
			l, r, err = Open(c.fs, c.dir+"/t-0", o)
			must(t, err)
			if r.Scanned || r.RebuiltIndexes > 0 || r.ReplayedFrom != l.EndOffset() {
				t.Errorf("after a clean stop: %+v", r)
			}
			if got := readAll(t, l); got != want {
				t.Fatalf("after reopening read\n%s\nwant\n%s", got, want)
			}
			if l.RebuiltIndexes() > 0 {
				t.Errorf("%d indexes made anew", l.RebuiltIndexes())
			}
			want += fill(t, l, 50, 3)
			if got := readAll(t, l); got != want {
				t.Fatalf("after more appends read\n%s\nwant\n%s", got, want)
			}
			must(t, l.Close())
		})
	}
}

// Every offset as From, every offset as Limit, several sizes: the slice has the right batches.
func TestReadBounds(t *testing.T) {
	l, _ := mustOpen(t, vfs.NewMem(1), Options{})
	fill(t, l, 30, 3)
	end := l.EndOffset()
	for from := kafka.Offset(0); from <= end; from++ {
		for limit := from; limit <= end+1; limit++ {
			for _, max := range []int{0, 90, 200, 100000} {
				l.hints.clear()
				s, err := l.Read(ReadRequest{From: from, Limit: limit, MaxBytes: max, AtLeastOneBatch: true})
				must(t, err)
				if s.Len > 0 {
					if s.FirstOffset > from || s.NextOffset > limit || s.NextOffset <= from {
						t.Fatalf("read [%d, %d): slice [%d, %d)", from, limit, s.FirstOffset, s.NextOffset)
					}
					data, err := s.Bytes()
					must(t, err)
					lines := strings.Count(dump(t, data, 0), "\n")
					if first := from / 3 * 3; lines != int(s.NextOffset-first) {
						t.Fatalf("read [%d, %d): %d records in slice to %d", from, limit, lines, s.NextOffset)
					}
					if s.Len > max && lines != 3 {
						t.Fatalf("read [%d, %d): %d bytes, max %d", from, limit, s.Len, max)
					}
				} else if limit >= min(from/3*3+3, end) && from < end {
					t.Fatalf("read [%d, %d) max %d: nothing", from, limit, max)
				}
				s.Release()
			}
		}
	}
	for _, from := range []kafka.Offset{-1, end + 1} {
		if _, err := l.Read(ReadRequest{From: from, Limit: end, MaxBytes: 100}); !errors.Is(err, ErrOffsetOutOfRange) {
			t.Errorf("read at %d: %v", from, err)
		}
	}
	if s, err := l.Read(ReadRequest{From: 0, Limit: end, MaxBytes: 10}); err != nil || s.Len != 0 {
		t.Errorf("first batch larger than the maximum: %d bytes, %v", s.Len, err)
	}
}

func TestTruncateAndStart(t *testing.T) {
	fs := vfs.NewMem(1)
	l, _ := mustOpen(t, fs, Options{})
	fill(t, l, 60, 3)
	s, err := l.Read(ReadRequest{From: 150, Limit: 180, MaxBytes: 1 << 20})
	must(t, err)
	before, err := s.Bytes()
	must(t, err)
	must(t, l.TruncateTo(154))
	if l.EndOffset() != 153 {
		t.Errorf("truncated inside a batch at 153 to %d", l.EndOffset())
	}
	must(t, l.Append(batchSpec{at: 153, epoch: 3, ts: now0, values: []string{"new"}}.build(t), now0))
	after, err := s.Bytes()
	must(t, err)
	if string(before) != string(after) {
		t.Error("the slice changed by a truncation")
	}
	s.Release()
	if got := readAll(t, l); !strings.HasSuffix(got, "152 =value 152\n153 =new\n") {
		t.Errorf("log ends with %q", got[len(got)-60:])
	}
	must(t, l.AdvanceStart(20))
	if _, err := l.Read(ReadRequest{From: 19, Limit: 150, MaxBytes: 1 << 20}); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Errorf("read below the start: %v", err)
	}
	fs.Crash()
	l, r := mustOpen(t, fs, Options{})
	if l.StartOffset() != 20 && l.EndOffset() >= 20 {
		t.Errorf("start after a crash %d, end %d, %+v", l.StartOffset(), l.EndOffset(), r)
	}
	must(t, l.TruncateFullyTo(1000))
	if l.StartOffset() != 1000 || l.EndOffset() != 1000 || l.Size() != 0 {
		t.Errorf("emptied log is [%d, %d)", l.StartOffset(), l.EndOffset())
	}
	fill(t, l, 2, 2)
	must(t, l.Close())
	l, _ = mustOpen(t, fs, Options{Clean: true})
	if l.StartOffset() != 1000 || l.EndOffset() != 1004 {
		t.Errorf("reopened log is [%d, %d)", l.StartOffset(), l.EndOffset())
	}
}
