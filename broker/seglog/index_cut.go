package seglog

import (
	"fmt"
	"io"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// cutSummary is what a segment's indexes and summary are once it is cut.
type cutSummary struct {
	idx       *indexes
	largest   kafka.Timestamp
	largestAt kafka.Offset
	first     kafka.Timestamp
}

// cutIndexes finds the indexes of the part of a segment before position, where the log is to end at next, without
// reading the batches of that part again: the entries that stay are a prefix of each index. The files are not changed.
// For the writer; the indexes are loaded.
func (l *Log) cutIndexes(s *segment, position int64, next kafka.Offset) (cutSummary, error) {
	c := cutSummary{idx: newIndexes(), largest: kafka.NoTimestamp, largestAt: kafka.NoOffset, first: kafka.NoTimestamp}
	if position == 0 {
		return c, nil
	}
	c.first = s.first
	if err := l.writeTails(s, true); err != nil {
		return c, err
	}
	x := s.idx
	stays := [3]func(entry []byte) bool{
		func(b []byte) bool { _, p := offsetEntry(b); return p < position },
		func(b []byte) bool { _, r := timeEntry(b); return s.base+kafka.Offset(r) < next },
		func(b []byte) bool { return txnEntry(b).Last < next },
	}
	lastIndexed := int64(0)
	for k, e := range inOrder(x) {
		cut := inOrder(c.idx)[k]
		last, err := l.adoptPrefix(s, offsetIndexFile+fileKind(k), e, cut, stays[k])
		if err != nil {
			return c, err
		}
		switch {
		case last == nil:
		case cut == &c.idx.offsets:
			_, lastIndexed = offsetEntry(last)
		case cut == &c.idx.times:
			ts, r := timeEntry(last)
			c.idx.lastTime, c.largest, c.largestAt = ts, ts, s.base+kafka.Offset(r)
		}
	}
	c.idx.sinceEntry = int(position - lastIndexed)
	return c, l.largestFrom(s, lastIndexed, position, &c)
}

// adoptPrefix copies the entries for which stays holds, and gives the last of them.
func (l *Log) adoptPrefix(s *segment, k fileKind, e, cut *entries, stays func([]byte) bool) (last []byte, err error) {
	if e.written == 0 {
		return nil, nil
	}
	h, err := l.open(s, k)
	if err != nil {
		return nil, err
	}
	defer l.files.release(h)
	block := make([]byte, scanBlock/e.width*e.width)
	for at := 0; at < e.written*e.width; at += len(block) {
		b := block[:min(len(block), e.written*e.width-at)]
		if n, err := h.file.ReadAt(b, int64(at)); n < len(b) {
			if err == nil || err == io.EOF {
				err = l.badIndex(s, k)
			}
			return nil, fmt.Errorf("cut index: %w", err)
		}
		n := search(b, e.width, stays) * e.width
		cut.adopt(b[:n])
		if n > 0 {
			last = append(last[:0], b[n-e.width:n]...)
		}
		if n < len(b) {
			break
		}
	}
	return last, nil
}

// largestFrom takes the timestamps of the batches of [from, to) into the summary.
func (l *Log) largestFrom(s *segment, from, to int64, c *cutSummary) error {
	h, err := l.open(s, logFile)
	if err != nil {
		return err
	}
	defer l.files.release(h)
	sc := l.scan(s, h, from, to, make([]byte, scanBlock))
	for {
		header, _, err := sc.next()
		if isEnd(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.MaxTimestamp > c.largest {
			c.largest, c.largestAt = header.MaxTimestamp, header.LastOffset()
		}
	}
}

// truncateIndexFiles cuts the index files to what counts.
func (l *Log) truncateIndexFiles(s *segment) error {
	for k, e := range inOrder(s.idx) {
		kind := offsetIndexFile + fileKind(k)
		if kind == txnIndexFile && e.written == 0 {
			l.removeStaleTxnIndex(s)
			continue
		}
		h, err := l.open(s, kind)
		if err != nil {
			return err
		}
		err = h.file.Truncate(int64(e.written * e.width))
		l.files.release(h)
		if err != nil {
			return fmt.Errorf("cut index: %w", err)
		}
	}
	return nil
}
