package seglog

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// DeleteReason says why a segment was deleted.
type DeleteReason string

// The reasons, in the order in which they are tried.
const (
	ReasonTime  DeleteReason = "retention.ms"
	ReasonSize  DeleteReason = "retention.bytes"
	ReasonStart DeleteReason = "log start offset"
)

// DeletedSegment tells what was deleted and why, for people who miss their data.
type DeletedSegment struct {
	Base, Next kafka.Offset
	Size       int64
	Reason     DeleteReason
	Largest    kafka.Timestamp // its largest timestamp, -1: none
	Appended   kafka.Timestamp // when it was last appended to
}

// futureSlack is how far ahead of the clock a largest timestamp may lie and still be believed by retention.ms.
const futureSlackMs = 3600_000

// Retain deletes the segments that the settings no longer keep, from the first on, by Kafka's rules: nothing that holds
// records at or above upTo (the high watermark); by time when the largest timestamp is older than retention.ms; by size
// while the rest is still at least retention.bytes; and what lies below the log start offset. The active segment goes
// too when its time has come: a new, empty one is begun first. Settings of time and size count only when cleanup.policy
// has delete.
//
// A largest timestamp more than an hour ahead of now (a producer that counts in microseconds, say) would keep a
// segment and all behind it for ever; then the time of its last append counts.
func (l *Log) Retain(now kafka.Timestamp, upTo kafka.Offset) ([]DeletedSegment, error) {
	if err := l.usable(); err != nil {
		return nil, err
	}
	deleted, err := l.retain(now, upTo)
	if err != nil {
		return deleted, l.fault("retain", err)
	}
	return deleted, nil
}

func (l *Log) retain(now kafka.Timestamp, upTo kafka.Offset) ([]DeletedSegment, error) {
	c := l.config()
	var doomed []DeletedSegment
	excess := int64(-1)
	if c.Delete && c.RetentionBytes >= 0 {
		excess = l.Size() - c.RetentionBytes
	}
	byTime := c.Delete && c.RetentionMs >= 0
	n := 0
	for ; n < len(l.segs); n++ {
		s := l.segs[n]
		last := n == len(l.segs)-1
		if s.next > upTo || last && s.size == 0 {
			break
		}
		d := DeletedSegment{Base: s.base, Next: s.next, Size: s.size, Appended: s.appended}
		var err error
		if d.Largest, _, err = l.summary(s); err != nil {
			return nil, fmt.Errorf("largest timestamp of segment %d: %w", s.base, err)
		}
		switch {
		case byTime && int64(now-l.datedAt(s, now)) > c.RetentionMs:
			d.Reason = ReasonTime
		case excess >= s.size && excess >= 0:
			d.Reason = ReasonSize
		case s.next <= l.start && !last:
			d.Reason = ReasonStart
		}
		if d.Reason == "" {
			break
		}
		excess = max(excess-s.size, -1)
		doomed = append(doomed, d)
	}
	if n == 0 {
		return nil, nil
	}
	if n == len(l.segs) {
		if err := l.loadIndexes(l.active()); err != nil {
			return nil, err
		}
		if err := l.roll(now); err != nil {
			return nil, err
		}
	}
	return l.deleteFirst(n, doomed)
}

// datedAt is the time that retention.ms counts from.
func (l *Log) datedAt(s *segment, now kafka.Timestamp) kafka.Timestamp {
	at := s.largest
	if at < 0 || at > now && int64(at-now) > futureSlackMs {
		at = s.appended
		if at <= 0 {
			if info, err := l.fs.Stat(segmentName(l.dir, s.base, suffixes[logFile])); err == nil {
				at = info.ModTime
			} else {
				at = now
			}
		}
	}
	return at
}

// deleteFirst deletes the first n segments, of which the active one is none, from the first on: after a crash in the
// middle the log begins at the first that is left.
func (l *Log) deleteFirst(n int, doomed []DeletedSegment) ([]DeletedSegment, error) {
	if l.end > l.flushed && l.segs[n].base > l.flushed {
		// The new start must not lie in what a crash may lose.
		err := l.flush(sealBytes)
		if err != nil && vfs.Heals(err) { // no space for seals: that there is a segment to start with is enough
			if err = l.syncFile(l.segs[n], logFile); err == nil {
				err = l.syncDir()
			}
		}
		if err != nil {
			return nil, err
		}
	}
	segs := slices.Clone(l.segs[:n])
	start := max(l.start, l.segs[n].base)
	if err := l.retire(segs, func() error {
		l.segs = slices.Clone(l.segs[n:])
		return nil
	}); err != nil {
		return nil, err
	}
	l.unsynced = max(0, l.unsynced-n)
	l.moveStart(start)
	for i, s := range segs {
		if err := l.removeSegment(s); err != nil {
			return doomed[:i], err
		}
	}
	first := l.segs[0].base
	return doomed, l.dropSnapshots(func(at kafka.Offset) bool { return at < first })
}
