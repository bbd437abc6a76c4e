package seglog

import (
	"fmt"
	"io"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// Append appends one or more whole batches, whose offsets and epochs are assigned: the first at the log's end or beyond
// (a follower of a compacted log), each behind the one before. It is one write, or one per segment when they do not
// fit into one. The bytes are the caller's again when it returns.
//
// After an error nothing of the batch that failed is in the log; batches before it may be, EndOffset tells. A full disk
// heals; other errors of writing take the directory offline.
func (l *Log) Append(batches []byte, now kafka.Timestamp) error {
	if err := l.usable(); err != nil {
		return err
	}
	if err := l.checkAppend(batches); err != nil {
		return err
	}
	for len(batches) > 0 {
		if err := l.readyIndexes(l.active()); err != nil {
			return l.fault("append", err)
		}
		if l.needsRoll(record.Batch(batches), now) {
			if err := l.rollFor(record.Batch(batches), now); err != nil {
				return l.fault("append", err)
			}
		}
		n := l.fits(batches)
		if err := l.write(batches[:n], now); err != nil {
			return l.fault("append", err)
		}
		batches = batches[n:]
	}
	return nil
}

// readyIndexes loads the active segment's indexes, or makes them anew when a reader found them lying.
func (l *Log) readyIndexes(s *segment) error {
	l.loadMu.Lock()
	l.mu.Lock()
	if s.suspect {
		s.idx, s.hasSeal, s.suspect = nil, false, false
	}
	l.mu.Unlock()
	l.loadMu.Unlock()
	return l.loadIndexes(s)
}

// checkAppend refuses what would make the log unreadable: cut batches and offsets out of order.
func (l *Log) checkAppend(batches []byte) error {
	next := l.end
	for rest := batches; len(rest) > 0; {
		var b record.Batch
		var err error
		if b, rest, err = record.Next(rest); err != nil {
			return fmt.Errorf("append: batch at byte %d: %w", len(batches)-len(rest), err)
		}
		if b.BaseOffset() < next {
			return fmt.Errorf("append: batch at offset %d, log ends at %d: %w", b.BaseOffset(), next, ErrOutOfOrder)
		}
		next = b.NextOffset()
	}
	return nil
}

// needsRoll tells whether the batch belongs into a new segment, by Kafka's rules: size, time since the first batch (by
// the batches' timestamps where there are any), full indexes, an offset that the indexes cannot hold. An empty segment
// takes any batch that its base offset allows.
func (l *Log) needsRoll(b record.Batch, now kafka.Timestamp) bool {
	s, c := l.active(), l.config()
	if b.LastOffset()-s.base > maxRelative {
		return true
	}
	if s.size == 0 {
		return false
	}
	if s.size+int64(b.Size()) > int64(c.SegmentBytes) || s.size+int64(b.Size()) > maxRelative {
		return true
	}
	maxEntries := int(c.SegmentIndexBytes) / offsetEntryBytes
	maxTimes := int(c.SegmentIndexBytes)/timeEntryBytes - 1 // the last slot is for the roll
	if s.idx.offsets.count() >= maxEntries || s.idx.times.count() >= maxTimes {
		return true
	}
	return waited(s, b.MaxTimestamp(), now) > l.segmentMs(c)
}

// segmentMs is for how long a segment of this log takes batches.
func (l *Log) segmentMs(c *Config) int64 {
	most := c.SegmentMs
	if c.Compact { // only a closed segment can be compacted
		most = min(most, c.MaxCompactionLagMs)
	}
	return most - l.jitter(min(c.SegmentJitterMs, most))
}

// waited is for how long the segment has taken batches, in ms.
func waited(s *segment, batch, now kafka.Timestamp) int64 {
	if s.first >= 0 {
		return int64(batch - s.first)
	}
	return int64(now - s.appended)
}

// jitter spreads the rolls of logs that were made at the same time, in [0, below); it depends on the log's name alone.
func (l *Log) jitter(below int64) int64 {
	if below <= 0 {
		return 0
	}
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(l.dir) {
		h = (h ^ uint64(l.dir[i])) * 1099511628211
	}
	return int64(h % uint64(below))
}

// fits is how many bytes of whole batches go into the active segment, at least one batch.
func (l *Log) fits(batches []byte) int {
	s, limit := l.active(), int64(l.config().SegmentBytes)
	n := 0
	for n < len(batches) {
		b, _, err := record.Next(batches[n:])
		if err != nil {
			break // checked before
		}
		over := s.size+int64(n+len(b)) > limit || b.LastOffset()-s.base > maxRelative
		if over && n > 0 {
			break
		}
		n += len(b)
		if over {
			break
		}
	}
	return n
}

// write writes batches that fit at the end of the active segment and takes note of them. A write that fails is cut off.
func (l *Log) write(batches []byte, now kafka.Timestamp) error {
	s := l.active()
	h, err := l.open(s, logFile)
	if err != nil {
		return err
	}
	defer l.files.release(h)
	if l.tailDirty {
		if err := h.file.Truncate(s.size); err != nil {
			return fmt.Errorf("cut off a failed write: %w", err)
		}
		l.tailDirty = false
	}
	if n, err := h.file.WriteAt(batches, s.size); err != nil {
		if n > 0 {
			// If this fails too, the bytes are beyond the size that counts, and the next append or Close tries again.
			l.tailDirty = h.file.Truncate(s.size) != nil
		}
		return fmt.Errorf("write %d bytes: %w", len(batches), err)
	} else if n < len(batches) {
		return io.ErrShortWrite
	}

	interval := l.indexInterval()
	l.mu.Lock()
	for rest, at := batches, s.size; len(rest) > 0; {
		b, next, _ := record.Next(rest)
		s.note(batchSpan{last: b.LastOffset(), maxTimestamp: b.MaxTimestamp(), position: at, size: len(b)}, interval)
		at, rest = at+int64(len(b)), next
	}
	s.size += int64(len(batches))
	s.appended = now
	l.end = s.next
	l.hints.add(s, s.next, s.size)
	l.mu.Unlock()

	for rest := batches; len(rest) > 0; {
		var b record.Batch
		b, rest, _ = record.Next(rest)
		l.assignEpoch(b.LeaderEpoch(), b.BaseOffset())
		if txn, ok := l.producers.Update(b, now); ok && txn.Aborted {
			l.mu.Lock()
			addTxn(s.idx, AbortedTransaction{txn.ProducerID, txn.First, txn.Last, txn.LastStable})
			l.mu.Unlock()
		}
	}
	// The batches are in the log; an index that could not be written stays in memory and is written later.
	_ = l.writeTails(s, false)
	return nil
}

// Roll begins a new segment at the log's end, unless the active one is empty.
func (l *Log) Roll(now kafka.Timestamp) error {
	if err := l.usable(); err != nil {
		return err
	}
	if l.active().size == 0 {
		return nil
	}
	if err := l.loadIndexes(l.active()); err != nil {
		return l.fault("roll", err)
	}
	if err := l.roll(now); err != nil {
		return l.fault("roll", err)
	}
	return nil
}

// rollFor rolls for a batch. One so far behind the log's end that no segment there could hold it (a follower of a
// compacted log) begins a segment of its own; the gap is sealed first, so that recovery knows that it is meant.
func (l *Log) rollFor(b record.Batch, now kafka.Timestamp) error {
	if b.LastOffset()-l.end <= maxRelative {
		return l.roll(now)
	}
	s := l.active()
	l.mu.Lock()
	s.noteTime()
	s.next, l.end = b.BaseOffset(), b.BaseOffset()
	l.mu.Unlock()
	if err := l.syncFile(s, logFile); err != nil {
		return err
	}
	if err := l.sealAll([]*segment{s}); err != nil {
		return err
	}
	return l.createSegment(l.end, now)
}

// roll closes the active segment for appends and begins the next one at the log's end. Nothing of it is durable yet.
func (l *Log) roll(now kafka.Timestamp) error {
	s := l.active()
	l.mu.Lock()
	s.noteTime()
	l.mu.Unlock()
	if err := l.writeTails(s, true); err != nil {
		return err
	}
	if err := l.createSegment(l.end, now); err != nil {
		return err
	}
	return l.writeSnapshot()
}
