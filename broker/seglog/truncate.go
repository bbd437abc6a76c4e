package seglog

import (
	"fmt"
	"io"
	"os"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// TruncateTo removes every batch that ends beyond off: afterwards EndOffset is at most off, and less when off was inside
// a batch. Slices that are out keep their bytes. At or below StartOffset it is TruncateFullyTo. Afterwards appends go on
// at EndOffset; what was removed does not come back after a crash once an append behind it is durable.
func (l *Log) TruncateTo(off kafka.Offset) error {
	if l.interrupted != nil {
		if err := l.TruncateFullyTo(l.start); err != nil {
			return err
		}
	}
	if err := l.usable(); err != nil {
		return err
	}
	if off >= l.end {
		if l.epochs.TruncateFromEnd(l.end) { // also when there is nothing to cut (KAFKA-10706)
			l.epochsDirty = true
		}
		return nil
	}
	if off <= l.start {
		return l.TruncateFullyTo(off)
	}
	if err := l.truncateTo(off); err != nil {
		return l.fault("truncate", err)
	}
	return nil
}

// truncateTo cuts from the end. A crash at any point leaves a log that ends somewhere between off and the old end.
func (l *Log) truncateTo(off kafka.Offset) error {
	l.cuts++
	i := len(l.segs) - 1
	for l.segs[i].base >= off {
		i--
	}
	s := l.segs[i]
	position, next, err := l.cutPoint(s, off)
	if err != nil {
		return err
	}
	// From here on no seal and no recovery point vouches for what is being cut.
	marks := appendMark(nil, kindCut, next)
	if next < l.start { // the start was inside the batch that goes
		marks = appendMark(marks, kindStart, next)
	}
	if err := l.journal.append(marks); err != nil {
		return err
	}
	if next < l.start {
		l.startNoted = next
	}
	l.mu.Lock()
	l.flushed = min(l.flushed, next)
	l.mu.Unlock()
	if err := l.dropSegments(i + 1); err != nil {
		return err
	}
	if err := l.cutSegment(s, position, next); err != nil {
		return err
	}
	l.unsynced = min(l.unsynced, i)
	return l.afterCut(next)
}

// cutPoint is where the first batch that reaches beyond off begins, and the end of the log when it is gone.
func (l *Log) cutPoint(s *segment, off kafka.Offset) (position int64, next kafka.Offset, err error) {
	h, err := l.open(s, logFile)
	if err != nil {
		return 0, 0, err
	}
	defer l.files.release(h)
	header, at, err := l.find(view{seg: s, size: s.size, next: s.next}, h, off)
	switch {
	case err != nil:
		return 0, 0, err
	case at < 0: // off is in the gap at the end of the segment
		return s.size, off, nil
	case header.BaseOffset < off: // the whole batch goes
		return at, header.BaseOffset, nil
	}
	return at, off, nil
}

// dropSegments deletes segs[i:], the last first.
func (l *Log) dropSegments(i int) error {
	for n := len(l.segs) - 1; n >= i; n-- {
		s := l.segs[n]
		if err := l.retire([]*segment{s}, func() error { l.segs = l.segs[:n:n]; return nil }); err != nil {
			return err
		}
		if err := l.removeSegment(s); err != nil {
			return err
		}
	}
	return nil
}

// removeSegment deletes a segment's files, the log first: an index without a log is no segment.
func (l *Log) removeSegment(s *segment) error {
	for _, suffix := range suffixes {
		if err := l.removeFile(segmentName(l.dir, s.base, suffix)); err != nil {
			return fmt.Errorf("delete segment: %w", err)
		}
	}
	l.namesDirty = true
	return nil
}

// cutSegment makes position the end of a segment. When readers use it, they keep the old file: the part that stays is
// copied to a new one.
func (l *Log) cutSegment(s *segment, position int64, next kafka.Offset) error {
	c, err := l.cutIndexes(s, position, next)
	if err != nil {
		c.idx = nil // made anew from the batches
	}
	l.loadMu.Lock()
	l.mu.Lock()
	used := s.refs > 0
	if !used {
		// New readers see only what stays.
		s.size, s.next, s.hasSeal, s.suspect = position, next, false, false
		s.idx, s.largest, s.largestAt, s.first = c.idx, c.largest, c.largestAt, c.first
		l.end = next
		l.hints.clear()
	}
	l.mu.Unlock()
	l.loadMu.Unlock()
	if used {
		if s, err = l.copySegment(s, position, next); err != nil {
			return err
		}
	} else {
		h, err := l.open(s, logFile)
		if err != nil {
			return err
		}
		err = cutDurably(h.file, position)
		l.files.release(h)
		if err != nil {
			return err
		}
	}
	l.tailDirty = false
	if indexed, _ := l.indexed(s); !indexed {
		return l.loadIndexes(s)
	}
	return l.truncateIndexFiles(s)
}

// cutDurably cuts a file. Without the fsync a crash could bring back what was cut, behind batches written since, and
// recovery would take it for the log's: its checksums are right and its offsets may fit.
func cutDurably(f vfs.File, size int64) error {
	if err := f.Truncate(size); err != nil {
		return fmt.Errorf("cut segment: %w", err)
	}
	if err := f.Sync(); err != nil {
		return &vfs.SyncError{Err: err}
	}
	return nil
}

// cutSuffix is that of the copy while it is made. It is not compaction's: a pass may be writing a segment of the same base.
const cutSuffix = ".cut" + cleanedSuffix

// copySegment replaces a segment by one with its first bytes only.
func (l *Log) copySegment(s *segment, size int64, next kafka.Offset) (*segment, error) {
	fresh := newSegment(s.base)
	fresh.size, fresh.next, fresh.appended = size, next, s.appended
	name := segmentName(l.dir, s.base, suffixes[logFile])
	if err := l.copyFile(s, name+cutSuffix, size); err != nil {
		return nil, err
	}
	i := len(l.segs) - 1
	err := l.retire([]*segment{s}, func() error {
		// Under mu: nobody may open the old file by the name of the new one, or the other way round.
		for k := offsetIndexFile; k < fileKinds; k++ {
			if err := l.removeFile(segmentName(l.dir, s.base, suffixes[k])); err != nil {
				return err
			}
		}
		l.namesDirty = true
		if err := l.fs.Rename(name+cutSuffix, name); err != nil {
			return err
		}
		l.segs = append(l.segs[:i:i], fresh)
		l.end = next
		return nil
	})
	return fresh, err
}

// copyFile copies the first bytes of a segment's log. The copy is synced before its name replaces the old one, which
// may be durable.
func (l *Log) copyFile(s *segment, name string, size int64) error {
	h, err := l.open(s, logFile)
	if err != nil {
		return err
	}
	defer l.files.release(h)
	f, err := l.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, scanBlock)
	for at := int64(0); at < size; {
		n := min(int64(len(buf)), size-at)
		if got, err := h.file.ReadAt(buf[:n], at); int64(got) < n {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("copy segment: %w", err)
		}
		if _, err := f.WriteAt(buf[:n], at); err != nil {
			return fmt.Errorf("copy segment: %w", err)
		}
		at += n
	}
	if err := f.Sync(); err != nil {
		return &vfs.SyncError{Err: err}
	}
	return nil
}

// afterCut brings what is derived from the batches back to the log's new end.
func (l *Log) afterCut(next kafka.Offset) error {
	l.mu.Lock()
	l.end = next
	l.active().next = next
	l.start = min(l.start, next)
	l.mu.Unlock()
	if l.epochs.TruncateFromEnd(next) {
		l.epochsDirty = true
	}
	l.compaction.truncated(next)
	if err := l.settleProducers(Options{Now: l.active().appended}, &RecoveryReport{}); err != nil {
		return err
	}
	l.producers.AdvanceStart(l.start)
	return l.syncDir()
}

// TruncateFullyTo removes everything; the log is then empty and begins at off. After a crash in the middle the next Open
// finishes it. After an error that heals the log may be without segments: then every other change is refused with that error.
func (l *Log) TruncateFullyTo(off kafka.Offset) error {
	l.interrupted = nil
	if err := l.usable(); err != nil {
		return err
	}
	err := l.reset(off, kafka.NoTimestamp)
	if err == nil {
		return nil
	}
	err = l.fault("truncate fully", err)
	if len(l.segs) == 0 {
		l.interrupted = err
	}
	return err
}

func (l *Log) reset(off kafka.Offset, now kafka.Timestamp) error {
	l.cuts++
	if err := l.journal.append(appendMark(nil, kindReset, off)); err != nil {
		return err
	}
	l.mu.Lock()
	segs := l.segs
	l.mu.Unlock()
	if err := l.retire(segs, func() error { l.segs = nil; l.end, l.start, l.flushed = off, off, off; return nil }); err != nil {
		return err
	}
	for n := len(segs) - 1; n >= 0; n-- {
		if err := l.removeSegment(segs[n]); err != nil {
			return err
		}
	}
	if err := l.emptied(off, now); err != nil {
		return err
	}
	return nil
}

// finishReset is reset for a log that is being opened and of which nothing but file names is known.
func (l *Log) finishReset(off kafka.Offset) error {
	for n := len(l.segs) - 1; n >= 0; n-- {
		if err := l.removeSegment(l.segs[n]); err != nil {
			return err
		}
	}
	l.segs = nil
	return l.emptied(off, kafka.NoTimestamp)
}

// emptied makes the first segment of a log whose segments are gone.
func (l *Log) emptied(off kafka.Offset, now kafka.Timestamp) error {
	if err := l.dropSnapshots(func(kafka.Offset) bool { return true }); err != nil {
		return err
	}
	l.epochs.Clear()
	l.epochsDirty, l.tailDirty = true, false
	l.unsynced, l.startNoted = 0, off
	l.compaction = compactionState{}
	l.producers.Reset(off)
	if err := l.createSegment(off, now); err != nil {
		return err
	}
	l.mu.Lock()
	l.start, l.end, l.flushed = off, off, off
	l.mu.Unlock()
	if err := l.writeEpochs(); err != nil {
		return err
	}
	if err := l.syncDir(); err != nil {
		return err
	}
	return l.journal.append(appendMark(nil, kindResetDone, off))
}

// AdvanceStart moves the log start offset up to off, which must not be beyond the end. It is durable when AdvanceStart
// returns nil; after an error it may have moved a part of the way, see makeRoom. Segments below it go with the next Retain.
func (l *Log) AdvanceStart(off kafka.Offset) error {
	if err := l.usable(); err != nil {
		return err
	}
	if off <= max(l.startNoted, 0) {
		return nil
	}
	if off > l.end {
		return &RangeError{Offset: off, Start: l.start, End: l.end}
	}
	// Also when the start is there already: if retention moved it, a crash may bring deleted segments back.
	off = max(off, l.start)
	err := l.journal.append(appendMark(nil, kindStart, off))
	if vfs.IsFull(err) && vfs.Heals(err) {
		if err = l.makeRoom(off); err == nil {
			err = l.journal.append(appendMark(nil, kindStart, off))
		}
	}
	if err != nil {
		return l.fault("advance log start", err)
	}
	l.startNoted = off
	l.moveStart(off)
	if err := l.compactJournal(); err != nil {
		return l.fault("advance log start", err)
	}
	return nil
}

// makeRoom removes the segments below a start that is asked for and that a full disk cannot note: they are to go anyway, and a
// disk that is full to the last byte must not be in the way of making it less so. A crash leaves the start at the first
// segment that is left.
func (l *Log) makeRoom(off kafka.Offset) error {
	n := 0
	for n < len(l.segs)-1 && l.segs[n].next <= off {
		n++
	}
	if n == 0 {
		return nil
	}
	_, err := l.deleteFirst(n, make([]DeletedSegment, n))
	return err
}

func (l *Log) moveStart(off kafka.Offset) {
	l.mu.Lock()
	l.start = off
	l.mu.Unlock()
	if l.epochs.TruncateFromStart(off) {
		l.epochsDirty = true
	}
	l.producers.AdvanceStart(off)
}
