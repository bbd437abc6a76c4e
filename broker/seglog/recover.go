package seglog

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// recover brings the segments that were found to one consistent log. Steps, each of which may be run again:
//
//  1. Seals are matched with the segments' sizes.
//  2. After a clean stop with a seal for every byte of the last segment nothing is scanned. Otherwise batches are
//     checked from the recovery point on: the newest of the checkpoint (not beyond a cut in the journal) and the seals.
//     After an unclean stop the last recheckBytes before that are checked too, sealed or not: see recheck.go.
//  3. At the first batch that is not whole, or a gap between segments, the log ends: later segments are deleted from
//     the last on, then the segment is cut.
//  4. After an unclean stop what nothing proves to be durable is written again: see again.go.
//  5. Leader epochs and producers are brought up to the end.
func (l *Log) recover(o Options, js journalState, r *RecoveryReport) error {
	for i, s := range l.segs {
		if i+1 < len(l.segs) {
			s.next = l.segs[i+1].base
		}
		if v, ok := js.seals[s.base]; ok && v.logBytes <= s.size {
			s.sealed, s.hasSeal = v, true
			if v.logBytes == s.size {
				s.applySeal(v)
			}
		}
	}
	haveEpochs, err := l.readEpochs(r)
	if err != nil {
		return err
	}
	l.witness = epochWitness{start: max(js.start, o.LogStart, l.segs[0].base), last: kafka.NoLeaderEpoch}

	last := l.active()
	point := o.RecoveryPoint
	switch {
	case r.Created:
		point = last.base
	case o.Clean && last.known():
		point = last.next
	case o.Clean:
		point = last.base
	case js.cut != kafka.NoOffset:
		point = min(point, js.cut)
	}
	point = max(point, js.durable)
	if !r.Created && !(o.Clean && last.known()) {
		r.Scanned = true
		if err := l.check(point, !js.ours, r); err != nil {
			return err
		}
		if end := l.active(); end.next < point && end.base < point {
			// Something that was durable is gone; the rest of the last segment is not believed without a look.
			end.idx, end.hasSeal, point = nil, false, end.base
			if err := l.check(point, !js.ours, r); err != nil {
				return err
			}
		}
	}
	if !r.Created && !o.Clean {
		var err error
		if point, err = l.recheck(point, !js.ours, r); err != nil {
			return err
		}
	}
	l.end = l.active().next
	if err := l.voidSeals(js); err != nil {
		return err
	}
	l.flushed = min(max(point, l.segs[0].base), l.end)
	l.findUnsynced()
	if l.unproven = !r.Created && !o.Clean; l.unproven {
		if err := l.writeAgain(); err != nil && !vfs.Heals(err) {
			return err
		}
	}
	if err := l.settleTxns(); err != nil {
		return err
	}
	if err := l.settleEpochs(haveEpochs && !l.witness.doubts, r); err != nil {
		return err
	}
	if err := l.settleProducers(o, r); err != nil {
		return err
	}
	for _, s := range l.segs {
		if s.idx != nil {
			// On a full disk they stay in memory: a broker that cannot write must start all the same, and be read from.
			if err := l.writeTails(s, true); err != nil && !vfs.Heals(err) {
				return err
			}
		}
	}
	r.RebuiltIndexes = l.RebuiltIndexes()
	if l.namesDirty {
		if err := l.syncDir(); err != nil {
			return err
		}
	}
	l.namesDirty = r.Scanned // the process before this one may have died between making a file and making its name durable
	return nil
}

// findUnsynced finds the first segment that may hold something that is not durable.
func (l *Log) findUnsynced() {
	l.unsynced = 0
	for l.unsynced < len(l.segs)-1 && l.segs[l.unsynced].next <= l.flushed {
		l.unsynced++
	}
}

// check checks the segments from the recovery point on and cuts the log where it ends. trustGaps is for a log that was
// not written by us: there a compacted segment has no seal to say that the gap behind it is meant.
func (l *Log) check(point kafka.Offset, trustGaps bool, r *RecoveryReport) error {
	l.witness.last = kafka.NoLeaderEpoch
	i := 0
	for i+1 < len(l.segs) && l.segs[i+1].base <= point {
		i++
	}
	for ; i < len(l.segs); i++ {
		s := l.segs[i]
		valid, err := l.checkSegment(s, point, r)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return err
		}
		if err == nil && i+1 < len(l.segs) {
			if t := l.segs[i+1]; t.base != s.next && !(trustGaps && t.base > s.next) {
				err = &CorruptError{File: segmentName(l.dir, t.base, suffixes[logFile]), What: fmt.Sprintf("segment does not begin at offset %d, where the one before it ends", s.next)}
			} else {
				s.next = t.base
			}
		}
		if err != nil {
			r.Cut = err
			return l.cutFrom(i, valid, r)
		}
	}
	return nil
}

// cutFrom makes segs[i] the last segment and valid its size.
func (l *Log) cutFrom(i int, valid int64, r *RecoveryReport) error {
	for n := len(l.segs) - 1; n > i; n-- {
		r.DeletedSegments++
		r.TruncatedBytes += l.segs[n].size
		if err := l.removeSegment(l.segs[n]); err != nil {
			return err
		}
		l.forgetFilesOf(l.segs[n])
		l.segs = l.segs[:n:n]
	}
	s := l.segs[i]
	if valid == s.size {
		return nil
	}
	h, err := l.open(s, logFile)
	if err != nil {
		return err
	}
	defer l.files.release(h)
	if err := cutDurably(h.file, valid); err != nil {
		return err
	}
	r.TruncatedBytes += s.size - valid
	s.size = valid
	return nil
}

// checkSegment finds how many bytes of a segment are good, with a CorruptError when they are not all, and leaves its
// indexes loaded. What a seal covers is not read again; below the recovery point only headers are.
func (l *Log) checkSegment(s *segment, point kafka.Offset, r *RecoveryReport) (valid int64, err error) {
	if s.hasSeal && s.sealed.logBytes == s.size {
		return s.size, nil
	}
	from, x := int64(0), (*indexes)(nil)
	if s.hasSeal {
		if x, err = l.readIndexes(s, s.sealed); err != nil {
			return 0, err
		}
		point = max(point, s.sealed.next)
	}
	if x != nil {
		s.applySeal(s.sealed)
		from = s.sealed.logBytes
	} else {
		x = newIndexes()
		s.next, s.largest, s.largestAt, s.first = s.base, kafka.NoTimestamp, kafka.NoOffset, kafka.NoTimestamp
		l.rebuilt.Add(1)
	}
	s.idx = x
	if s.appended == 0 {
		if info, err := l.fs.Stat(segmentName(l.dir, s.base, suffixes[logFile])); err == nil {
			s.appended = info.ModTime
		}
	}

	h, err := l.open(s, logFile)
	if err != nil {
		return 0, err
	}
	defer l.files.release(h)
	sc, buf, control := l.scan(s, h, from, s.size, make([]byte, scanBlock)), make([]byte, scanBlock), false
	sc.base = s.next
	for {
		header, at, scanErr := sc.next()
		if isEnd(scanErr) {
			valid = s.size
			break
		}
		if scanErr == nil && header.LastOffset()-s.base > maxRelative {
			scanErr = l.badBatch(s, at, "batch is too far from the segment's base offset", nil)
		}
		if scanErr == nil && header.NextOffset() > point {
			r.ScannedBytes += int64(header.Size)
			scanErr = l.readAndCheck(s, h, header, at, buf)
			if scanErr == nil && header.LeaderEpoch < l.witness.last {
				scanErr = l.badBatch(s, at, fmt.Sprintf("batch of epoch %d follows one of epoch %d", header.LeaderEpoch, l.witness.last), nil)
			}
		}
		if scanErr != nil {
			if !errors.Is(scanErr, ErrCorrupt) {
				return 0, scanErr
			}
			valid, err = sc.pos, scanErr
			if header.Size > 0 {
				valid = at
			}
			break
		}
		l.witness.see(header, &l.epochs, kafka.NoOffset)
		s.note(spanOf(header, at), l.indexInterval())
		control = control || header.Attributes.IsControl()
		l.assignEpoch(header.LeaderEpoch, header.BaseOffset)
	}
	// Markers may have aborted transactions; finding those needs the producers, so it is done when the log is whole.
	x.txnsStale = control
	if from == 0 {
		l.finishRebuild(s, x)
	}
	return valid, err
}

func (l *Log) readAndCheck(s *segment, h *handle, header record.Header, at int64, buf []byte) error {
	// The checksum covers byte 21 to the end.
	const from = 21
	crc, pos, end := uint32(0), at+from, at+int64(header.Size)
	for pos < end {
		n := int(min(int64(len(buf)), end-pos))
		if got, err := h.file.ReadAt(buf[:n], pos); got < n {
			if err == nil || err == io.EOF {
				return l.badBatch(s, at, "batch is cut off", io.ErrUnexpectedEOF)
			}
			return fmt.Errorf("check batch: %w", err)
		}
		if l.progress != nil {
			l.progress(n)
		}
		crc = crc32.Update(crc, castagnoli, buf[:n])
		pos += int64(n)
	}
	if crc != header.CRC {
		return l.badBatch(s, at, fmt.Sprintf("checksum of batch at offset %d is %08x, its header says %08x", header.BaseOffset, crc, header.CRC), nil)
	}
	return nil
}

func (l *Log) badBatch(s *segment, at int64, what string, err error) error {
	return &CorruptError{File: segmentName(l.dir, s.base, suffixes[logFile]), Position: at, What: what, Err: err}
}

// voidSeals makes durable that seals of what the log no longer holds do not count. Without that, a seal could match a
// segment that has grown again by other batches.
func (l *Log) voidSeals(js journalState) error {
	for base, v := range js.seals {
		i, found := slices.BinarySearchFunc(l.segs, base, func(s *segment, b kafka.Offset) int { return int(s.base - b) })
		if v.next > l.end || found && l.segs[i].size < v.logBytes {
			return l.journal.append(appendMark(nil, kindCut, l.end))
		}
	}
	return nil
}
