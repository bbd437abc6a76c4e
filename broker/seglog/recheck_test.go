package seglog

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// flip damages one byte of a stored batch of a closed log, and gives the batch's first offset.
func flip(t *testing.T, fs vfs.FS, l *Log, offset kafka.Offset) kafka.Offset {
	t.Helper()
	s, err := l.Read(ReadRequest{From: offset, Limit: l.EndOffset(), MaxBytes: 1, AtLeastOneBatch: true})
	must(t, err)
	defer s.Release()
	name := ""
	for _, seg := range l.Segments() {
		if seg.Base <= s.FirstOffset {
			name = segmentName(l.dir, seg.Base, ".log")
		}
	}
	f := must2(fs.OpenFile(name, os.O_RDWR))
	defer f.Close()
	b := make([]byte, 1)
	at := s.Pos + int64(s.Len) - 3
	must2(f.ReadAt(b, at))
	b[0] ^= 0x10
	must2(f.WriteAt(b, at))
	return s.FirstOffset
}

// Damage below the recovery point, in a log that was closed cleanly and not written since: an unclean stop has the end of
// the log checked all the same, whatever the seals and the checkpoint say.
func TestUncleanStopChecksTheEndAgain(t *testing.T) {
	for _, segmentBytes := range []int32{1000, 1 << 20} {
		for _, back := range []int{1, 2, 40, 89} {
			for _, indexes := range []string{"whole", "lost", "spoiled"} {
				t.Run(fmt.Sprintf("segments of %d, %d batches from the end, indexes %s", segmentBytes, back, indexes), func(t *testing.T) {
					fs := vfs.NewMem(1)
					c := small()
					c.SegmentBytes = segmentBytes
					l, _ := mustOpen(t, fs, Options{Config: c})
					want := ""
					for epoch := range kafka.LeaderEpoch(3) {
						must(t, l.AssignEpoch(epoch))
						for range 30 {
							at := l.EndOffset()
							values := []string{fmt.Sprint("value ", at), fmt.Sprint("value ", at+1), fmt.Sprint("value ", at+2)}
							must(t, l.Append(batchSpec{at: at, epoch: epoch, ts: now0, values: values}.build(t), now0))
							for i, v := range values {
								want += fmt.Sprintf("%d =%s\n", int(at)+i, v)
							}
						}
					}
					must(t, l.Close())
					l, _ = mustOpen(t, fs, Options{Config: c, Clean: true})
					end := l.EndOffset()
					cut := flip(t, fs, l, end-kafka.Offset(3*back))
					l.forgetFiles()
					for _, e := range must2(fs.ReadDir("data/t-0")) {
						if strings.HasSuffix(e.Name, "index") && indexes != "whole" {
							f := must2(fs.OpenFile("data/t-0/"+e.Name, os.O_RDWR|os.O_TRUNC))
							if indexes == "spoiled" {
								f.WriteAt([]byte(strings.Repeat("x", int(e.Size))), 0)
							}
						}
					}
					l, r := mustOpen(t, fs, Options{Config: c, RecoveryPoint: end})
					if l.EndOffset() != cut || r.Cut == nil {
						t.Fatalf("the log ends at %d, want %d, the first damaged batch: %+v", l.EndOffset(), cut, r)
					}
					want = want[:strings.Index(want+fmt.Sprintf("%d =", cut), fmt.Sprintf("%d =", cut))]
					if got := readAll(t, l); got != want {
						t.Errorf("what is before the damage is not as written:\n%s", got)
					}
					must(t, l.AssignEpoch(3))
					for range 3 {
						must(t, l.Append(batchSpec{at: l.EndOffset(), epoch: 3, ts: now0, values: []string{"x", "y", "z"}}.build(t), now0))
					}
					l.forgetFiles()
					l, r = mustOpen(t, fs, Options{Config: c, RecoveryPoint: end})
					if r.Cut != nil || l.EndOffset() != cut+9 {
						t.Errorf("the next start cuts again: %+v", r)
					}
				})
			}
		}
	}
}

// After a clean stop nothing is read, so damage there is left to its readers.
func TestCleanStopChecksNothingAgain(t *testing.T) {
	fs := vfs.NewMem(1)
	l, _ := mustOpen(t, fs, Options{})
	fill(t, l, 20, 3)
	must(t, l.Close())
	l, _ = mustOpen(t, fs, Options{Clean: true})
	flip(t, fs, l, 59)
	must(t, l.Close())
	if l, r := mustOpen(t, fs, Options{Clean: true}); r.Scanned || l.EndOffset() != 60 {
		t.Errorf("end %d: %+v", l.EndOffset(), r)
	}
}

// What is checked is the tail behind the recovery point and recheckBytes before it, however long the log is.
func TestRecoveryScansOnlyTheTail(t *testing.T) {
	for _, segmentBytes := range []int32{100_000, 16 << 20} {
		fs := vfs.NewMem(1)
		c := small()
		c.SegmentBytes, c.IndexIntervalBytes = segmentBytes, 4096
		l, _ := mustOpen(t, fs, Options{Config: c})
		for range 40 {
			l.Append(batchSpec{at: l.EndOffset(), ts: now0, values: []string{strings.Repeat("v", 90_000)}}.build(t), now0)
		}
		must(t, l.Flush())
		size, point := l.Size(), l.RecoveryPoint()
		fill(t, l, 1, 3)
		l.forgetFiles()
		told, largest := 0, 0
		l, r := mustOpen(t, fs, Options{Config: c, RecoveryPoint: point, Progress: func(n int) { told, largest = told+n, max(largest, n) }})
		if int64(told) < r.ScannedBytes || largest > 2*scanBlock {
			t.Errorf("segments of %d: %d bytes were told of %d, %d of them at once", segmentBytes, told, r.ScannedBytes, largest)
		}
		before := told
		readAll(t, l)
		if told != before {
			t.Errorf("reads of the open log were told")
		}
		if r.ScannedBytes < recheckBytes || r.ScannedBytes > recheckBytes+2*100_000 || size < 3*recheckBytes {
			t.Errorf("segments of %d: %d of %d bytes were checked, want about %d", segmentBytes, r.ScannedBytes, size, recheckBytes)
		}
	}
}
