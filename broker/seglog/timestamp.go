package seglog

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// TimestampOffset is a record found by its time.
type TimestampOffset struct {
	Timestamp   kafka.Timestamp
	Offset      kafka.Offset
	LeaderEpoch kafka.LeaderEpoch
}

// maxDecompressed bounds the records of one batch that a look-up by time decompresses.
const maxDecompressed = 256 << 20

// OffsetForTimestamp finds the first record in [StartOffset, limit) whose timestamp is at least ts.
func (l *Log) OffsetForTimestamp(ts kafka.Timestamp, limit kafka.Offset) (TimestampOffset, bool, error) {
	var t TimestampOffset
	var ok bool
	err := l.again("look up a timestamp", func() (err error) {
		t, ok, err = l.byTime(ts, limit)
		return err
	})
	return t, ok, err
}

// again repeats a read when a segment was deleted or replaced under it.
func (l *Log) again(op string, read func() error) error {
	var err error
	for range readAttempts {
		if err = read(); err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

func (l *Log) byTime(ts kafka.Timestamp, limit kafka.Offset) (TimestampOffset, bool, error) {
	from := l.StartOffset()
	for from < limit {
		v, ok := l.refFor(from)
		if !ok {
			break
		}
		t, found, err := l.byTimeIn(v, ts, from, limit)
		l.unref(v.seg)
		if err != nil || found {
			return t, found, err
		}
		if v.last {
			break
		}
		from = v.next
	}
	return TimestampOffset{}, false, nil
}

// summary gives a segment's largest timestamp and where it is, reading its batches only if no seal knows.
func (l *Log) summary(s *segment) (largest kafka.Timestamp, at kafka.Offset, err error) {
	l.mu.Lock()
	known := s.known()
	l.mu.Unlock()
	if !known {
		if err := l.loadIndexes(s); err != nil {
			return 0, 0, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.largest, s.largestAt, nil
}

// byTimeIn looks in one segment. The time index gives a batch such that no earlier one has a timestamp above the
// entry's; from its position on the headers' max timestamps are compared, then the records of the first batch that may
// hold one.
func (l *Log) byTimeIn(v view, ts kafka.Timestamp, from, limit kafka.Offset) (TimestampOffset, bool, error) {
	none := TimestampOffset{}
	largest, _, err := l.summary(v.seg)
	if err != nil || largest < ts {
		return none, false, err
	}
	h, err := l.open(v.seg, logFile)
	if err != nil {
		return none, false, err
	}
	defer l.files.release(h)
	t, found := none, false
	err = l.withIndexes(v.seg, func() error {
		t, found, err = l.scanTime(v, h, ts, from, limit)
		return err
	})
	return t, found, err
}

// scanTime looks from the place on that the indexes give.
func (l *Log) scanTime(v view, h *handle, ts kafka.Timestamp, from, limit kafka.Offset) (TimestampOffset, bool, error) {
	none := TimestampOffset{}
	start, err := l.floorTime(v, h, ts, from)
	if err != nil {
		return none, false, err
	}
	sc := l.scanAt(v, h, start, make([]byte, lookupBlock))
	for {
		header, at, err := sc.next()
		if isEnd(err) || err == nil && header.BaseOffset >= limit {
			return none, false, nil
		}
		if err != nil {
			return none, false, err
		}
		if header.MaxTimestamp < ts || header.LastOffset() < from {
			continue
		}
		b, err := sc.batch(at, header.Size)
		if err != nil {
			return none, false, err
		}
		t, found, err := l.firstRecord(v, at, b, func(r *record.Record) bool { return r.Timestamp >= ts && r.Offset >= from })
		if err != nil || found {
			return t, found && t.Offset < limit, err
		}
	}
}

// floorTime gives a place before which no record in the segment from an offset on is younger than ts.
func (l *Log) floorTime(v view, h *handle, ts kafka.Timestamp, from kafka.Offset) (place, error) {
	x, err := l.indexesOf(v.seg)
	if err != nil {
		return place{}, err
	}
	start, err := l.floorOffset(v.seg, x.offsets, from)
	if err != nil {
		return place{}, err
	}
	largest, last := kafka.NoTimestamp, kafka.NoOffset
	err = l.search(v.seg, timeIndexFile, x.times,
		func(b []byte) bool { t, _ := timeEntry(b); return t <= ts },
		func(entry []byte) {
			t, r := timeEntry(entry)
			largest, last = t, v.seg.base+kafka.Offset(r)
		})
	if err != nil || last == kafka.NoOffset {
		return start, err
	}
	if last >= v.next { // the index has grown beyond the view, and nothing in the view is as young as the entry
		return place{v.size, kafka.NoOffset}, nil
	}
	header, at, err := l.tryFind(v, h, last)
	if err != nil {
		return place{}, err
	}
	if at < 0 || header.LastOffset() != last || header.MaxTimestamp != largest {
		return place{}, l.badIndex(v.seg, timeIndexFile)
	}
	if at > start.position {
		start = place{at, last}
	}
	return start, nil
}

// firstRecord finds the first record of a batch for which ok holds.
func (l *Log) firstRecord(v view, at int64, b record.Batch, ok func(*record.Record) bool) (TimestampOffset, bool, error) {
	it := b.Records(maxDecompressed)
	defer it.Close()
	for it.Next() {
		if r := it.Record(); ok(r) {
			return TimestampOffset{r.Timestamp, r.Offset, b.LeaderEpoch()}, true, nil
		}
	}
	if err := it.Err(); err != nil {
		return TimestampOffset{}, false, l.badBatch(v.seg, at, "records", err)
	}
	return TimestampOffset{}, false, nil
}

// MaxTimestamp finds the first record with the largest timestamp in [StartOffset, limit): ListOffsets with -3.
func (l *Log) MaxTimestamp(limit kafka.Offset) (TimestampOffset, bool, error) {
	var t TimestampOffset
	var ok bool
	err := l.again("look up the largest timestamp", func() (err error) {
		t, ok, err = l.byMaxTime(limit)
		return err
	})
	return t, ok, err
}

func (l *Log) byMaxTime(limit kafka.Offset) (TimestampOffset, bool, error) {
	start := l.StartOffset()
	best, found := TimestampOffset{Timestamp: kafka.NoTimestamp}, false
	for from := start; from < limit; {
		v, ok := l.refFor(from)
		if !ok {
			break
		}
		t, ok, err := l.maxTimeIn(v, best.Timestamp, start, limit)
		l.unref(v.seg)
		if err != nil {
			return best, false, err
		}
		if ok {
			best, found = t, true
		}
		if v.last {
			break
		}
		from = v.next
	}
	return best, found, nil
}

// maxTimeIn finds the first record with the largest timestamp of a segment in [start, limit), if it is above the one
// given. Only the segment in which start or limit falls is read as a whole.
func (l *Log) maxTimeIn(v view, above kafka.Timestamp, start, limit kafka.Offset) (TimestampOffset, bool, error) {
	best := TimestampOffset{Timestamp: above}
	largest, at, err := l.summary(v.seg)
	if err != nil || largest <= above {
		return best, false, err
	}
	h, err := l.open(v.seg, logFile)
	if err != nil {
		return best, false, err
	}
	defer l.files.release(h)
	sc := l.scan(v.seg, h, 0, v.size, make([]byte, lookupBlock))
	if v.seg.base >= start && at < v.next && v.next <= limit { // the batch is known
		header, position, err := l.find(v, h, at)
		if err != nil || position < 0 {
			return best, false, err
		}
		sc.pos, sc.end = position, position+int64(header.Size)
	}
	found := false
	for {
		header, at, err := sc.next()
		if isEnd(err) || err == nil && header.BaseOffset >= limit {
			return best, found, nil
		}
		if err != nil {
			return best, false, err
		}
		if header.MaxTimestamp <= best.Timestamp || header.LastOffset() < start {
			continue
		}
		b, err := sc.batch(at, header.Size)
		if err != nil {
			return best, false, err
		}
		_, _, err = l.firstRecord(v, at, b, func(r *record.Record) bool {
			if r.Offset >= start && r.Offset < limit && r.Timestamp > best.Timestamp {
				best, found = TimestampOffset{r.Timestamp, r.Offset, b.LeaderEpoch()}, true
			}
			return false
		})
		if err != nil {
			return best, false, err
		}
	}
}
