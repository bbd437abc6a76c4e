package seglog

import (
	"fmt"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

const hour = kafka.Timestamp(3600_000)

// one segment for each timestamp, and an active one that is empty unless the last is "active".
func segmentsAt(t *testing.T, c Config, stamps ...kafka.Timestamp) *Log {
	t.Helper()
	l, _ := mustOpen(t, vfs.NewMem(1), Options{Config: c})
	for i, ts := range stamps {
		if i > 0 {
			must(t, l.Roll(now0))
		}
		must(t, l.Append(plain(t, l.EndOffset(), 1, ts), now0))
	}
	return l
}

func TestRetain(t *testing.T) {
	byTime := small()
	byTime.RetentionMs = int64(hour)
	bySize := small()
	bySize.RetentionBytes = 2 * int64(len(plain(t, 0, 1, 0)))
	both := bySize
	both.RetentionMs = int64(hour)
	compacted := byTime
	compacted.Delete, compacted.Compact = false, true
	old := now0 - 2*hour

	for _, c := range []struct {
		name    string
		config  Config
		stamps  []kafka.Timestamp
		now     kafka.Timestamp
		upTo    kafka.Offset
		want    string
		start   kafka.Offset
		advance kafka.Offset
	}{
		{name: "old segments go", config: byTime, stamps: []kafka.Timestamp{old, old, now0}, now: now0, upTo: 3, want: "0 retention.ms, 1 retention.ms, ", start: 2},
		{name: "nothing above the watermark goes", config: byTime, stamps: []kafka.Timestamp{old, old, now0}, now: now0, upTo: 1, want: "0 retention.ms, ", start: 1},
		{name: "the active one goes too and a new one begins", config: byTime, stamps: []kafka.Timestamp{old, old}, now: now0, upTo: 2, want: "0 retention.ms, 1 retention.ms, ", start: 2},
		{name: "a young one keeps those behind it", config: byTime, stamps: []kafka.Timestamp{old, now0, old}, now: now0, upTo: 3, want: "0 retention.ms, ", start: 1},
		{name: "one from the future is kept for a time from its append", config: byTime, stamps: []kafka.Timestamp{old, now0 + 3650*day, old, now0}, now: now0, upTo: 4, want: "0 retention.ms, ", start: 1},
		{name: "one from the future goes when its append is long ago", config: byTime, stamps: []kafka.Timestamp{now0 + 3650*day, old, now0}, now: now0 + hour + 1, upTo: 3, want: "0 retention.ms, 1 retention.ms, 2 retention.ms, ", start: 3},
		{name: "by size", config: bySize, stamps: []kafka.Timestamp{now0, now0, now0, now0}, now: now0, upTo: 4, want: "0 retention.bytes, 1 retention.bytes, ", start: 2},
		{name: "by size whatever the time", config: both, stamps: []kafka.Timestamp{now0, now0 + 3650*day, now0, now0}, now: now0, upTo: 4, want: "0 retention.bytes, 1 retention.bytes, ", start: 2},
		{name: "a compacted topic is not retained by time", config: compacted, stamps: []kafka.Timestamp{old, old, old}, now: now0, upTo: 3, want: "", start: 0},
		{name: "below the log start", config: compacted, stamps: []kafka.Timestamp{old, old, old}, now: now0, upTo: 3, advance: 2, want: "0 log start offset, 1 log start offset, ", start: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := segmentsAt(t, c.config, c.stamps...)
			must(t, l.AdvanceStart(c.advance))
			end := l.EndOffset()
			deleted, err := l.Retain(c.now, c.upTo)
			must(t, err)
			got := ""
			for _, d := range deleted {
				got += fmt.Sprintf("%d %s, ", d.Base, d.Reason)
			}
			if got != c.want || l.StartOffset() != c.start || l.EndOffset() != end {
				t.Errorf("deleted %swant %s; the log is [%d, %d), want [%d, %d)", got, c.want, l.StartOffset(), l.EndOffset(), c.start, end)
			}
			if again, err := l.Retain(c.now, c.upTo); err != nil || len(again) > 0 {
				t.Errorf("a second round deleted %v, %v", again, err)
			}
			must(t, l.Append(plain(t, end, 1, c.now), c.now))
		})
	}
}

func TestRoll(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		stamps []kafka.Timestamp
		now    []kafka.Timestamp
		want   string
	}{
		{"size", func(c *Config) { c.SegmentBytes = 200 }, []kafka.Timestamp{0, 0, 0, 0, 0}, nil, "[0 2 4]"},
		{"time, by the records", func(c *Config) { c.SegmentMs = 1000 }, []kafka.Timestamp{0, 1000, 1001, 2001, 2002}, nil, "[0 2 4]"},
		{"records of the past", func(c *Config) { c.SegmentMs = 1000 }, []kafka.Timestamp{5000, 0, 0, 6000, 6001}, nil, "[0 4]"},
		{"full index", func(c *Config) { c.SegmentIndexBytes, c.IndexIntervalBytes = 24, 0 }, []kafka.Timestamp{0, 1, 2, 3, 4, 5}, nil, "[0 2 4]"},
		{"compaction lag", func(c *Config) { c.Compact, c.MaxCompactionLagMs = true, 500 }, []kafka.Timestamp{0, 500, 501}, nil, "[0 2]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := small()
			c.change(&cfg)
			l, _ := mustOpen(t, vfs.NewMem(1), Options{Config: cfg})
			for _, ts := range c.stamps {
				must(t, l.Append(plain(t, l.EndOffset(), 1, now0+ts), now0))
			}
			var bases []kafka.Offset
			for _, s := range l.Segments() {
				bases = append(bases, s.Base)
			}
			if got := fmt.Sprint(bases); got != c.want {
				t.Errorf("segments %s, want %s", got, c.want)
			}
		})
	}
}

// A batch whose offset the indexes cannot hold relative to the segment's base begins a new segment.
func TestRollBySpan(t *testing.T) {
	l, _ := mustOpen(t, vfs.NewMem(1), Options{})
	must(t, l.Append(plain(t, 0, 1, now0), now0))
	must(t, l.Append(plain(t, maxRelative, 1, now0), now0))
	must(t, l.Append(plain(t, 3*maxRelative, 1, now0), now0))
	var bases []kafka.Offset
	for _, s := range l.Segments() {
		bases = append(bases, s.Base)
	}
	if got, want := fmt.Sprint(bases), fmt.Sprintf("[0 %d]", 3*kafka.Offset(maxRelative)); got != want {
		t.Errorf("segments %s, want %s", got, want)
	}
	l.forgetFiles()
	l, r := mustOpen(t, l.fs, Options{})
	if r.Cut != nil || l.EndOffset() != 3*maxRelative+1 {
		t.Errorf("end %d after a restart: %+v", l.EndOffset(), r)
	}
	for _, at := range []kafka.Offset{0, 1, maxRelative, maxRelative + 1, 3 * maxRelative} {
		s, err := l.Read(ReadRequest{From: at, Limit: l.EndOffset(), MaxBytes: 1, AtLeastOneBatch: true})
		must(t, err)
		if s.Len == 0 {
			t.Errorf("nothing at %d", at)
		}
		s.Release()
	}
}
