package seglog

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// delete.retention.ms may be as large as it gets: then tombstones stay.
func TestTombstonesThatStayForEver(t *testing.T) {
	for _, retention := range []int64{math.MaxInt64, math.MaxInt64 - int64(now0)} {
		c := compacted()
		c.DeleteRetentionMs = retention
		l, _ := mustOpen(t, vfs.NewMem(1), Options{Config: c})
		keyed(t, l, record.BuilderOptions{}, "k=")
		for n := range 3 { // the first pass finds it, a later one may drop it
			keyed(t, l, record.BuilderOptions{}, fmt.Sprintf("other%d=x", n))
			compactNow(t, l, now0+100*day)
		}
		if got := readAll(t, l); !strings.HasPrefix(got, "0 k=\n") {
			t.Errorf("with delete.retention.ms=%d the log is\n%s", retention, got)
		}
	}
}

// Jitter makes a segment's time shorter, and never nothing: a segment for each batch would be the end of every bound on files.
func TestJitterLeavesASegmentItsTime(t *testing.T) {
	c := compacted()
	c.SegmentMs, c.MaxCompactionLagMs = 1<<40, 1000
	for _, jitter := range []int64{0, 500, 1000, 1 << 39} {
		c.SegmentJitterMs = jitter
		for n := range 20 {
			l := &Log{dir: fmt.Sprint("data/t-", n)}
			if got := l.segmentMs(&c); got <= 0 || got > 1000 || jitter == 0 && got != 1000 {
				t.Errorf("with a jitter of %d ms segments of %s are closed after %d ms, of 1000", jitter, l.dir, got)
			}
		}
	}
}
