package seglog

import (
	"errors"
	"fmt"
	"io"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// loadIndexes makes s.idx ready: from the files when the seal vouches for them, otherwise anew from the batches. The
// caller is the writer or holds a reference to s. Loading is serialised by loadMu, not by mu, since it reads files.
func (l *Log) loadIndexes(s *segment) error {
	l.mu.Lock()
	loaded := s.idx != nil
	l.mu.Unlock()
	if loaded {
		return nil
	}
	l.loadMu.Lock()
	defer l.loadMu.Unlock()
	l.mu.Lock()
	loaded, size := s.idx != nil, s.size
	l.mu.Unlock()
	if loaded {
		return nil
	}
	if s.hasSeal && s.sealed.logBytes == size {
		x, err := l.readIndexes(s, s.sealed)
		if err != nil {
			return err
		}
		if x != nil {
			l.mu.Lock()
			s.idx = x
			l.mu.Unlock()
			return nil
		}
	}
	return l.rebuildIndexes(s, size)
}

// indexed tells the writer whether the indexes of a segment are loaded, and how much of the segment is sealed. Readers load indexes beside the
// writer, and drop a seal that does not fit; what was loaded stays until the writer takes it away.
func (l *Log) indexed(s *segment) (loaded bool, sealed int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.hasSeal {
		sealed = s.sealed.logBytes
	}
	return s.idx != nil, sealed
}

// readIndexes reads the indexes of a seal from the files; nil when they are not what was sealed.
func (l *Log) readIndexes(s *segment, v seal) (*indexes, error) {
	x := newIndexes()
	x.sinceEntry = int(v.sinceEntry)
	for k, want := range [3]sum{v.offsets, v.times, v.txns} {
		e := inOrder(x)[k]
		if want.bytes == 0 {
			continue
		}
		last, ok, err := l.readIndex(s, offsetIndexFile+fileKind(k), want, e)
		if err != nil || !ok {
			return nil, err
		}
		if e == &x.times {
			x.lastTime, _ = timeEntry(last)
		}
	}
	return x, nil
}

// readIndex reads a file into e, if it agrees with its sum, and gives its last entry. What is in the file beyond the sum
// is cut off.
func (l *Log) readIndex(s *segment, k fileKind, want sum, e *entries) (last []byte, ok bool, err error) {
	h, err := l.open(s, k)
	if err != nil {
		return nil, false, err
	}
	defer l.files.release(h)
	size, err := h.file.Size()
	if err != nil {
		return nil, false, fmt.Errorf("load index: %w", err)
	}
	if size < int64(want.bytes) {
		return nil, false, nil
	}
	buf := make([]byte, min(int(want.bytes), scanBlock/e.width*e.width))
	for at := 0; at < int(want.bytes); at += len(buf) {
		buf = buf[:min(len(buf), int(want.bytes)-at)]
		if n, err := h.file.ReadAt(buf, int64(at)); n < len(buf) {
			if err == nil || err == io.EOF {
				return nil, false, nil
			}
			return nil, false, fmt.Errorf("load index: %w", err)
		}
		e.adopt(buf)
	}
	if e.crc != want.crc {
		return nil, false, nil
	}
	if size > int64(want.bytes) {
		if err := h.file.Truncate(int64(want.bytes)); err != nil {
			return nil, false, fmt.Errorf("load index: %w", err)
		}
	}
	return buf[len(buf)-e.width:], true, nil
}

// rebuildIndexes makes the indexes of [0, size) anew from the batches. Called with loadMu held. When the files cannot
// be written the indexes stay in memory: a full disk does not keep anybody from reading.
func (l *Log) rebuildIndexes(s *segment, size int64) error {
	h, err := l.open(s, logFile)
	if err != nil {
		return err
	}
	defer l.files.release(h)
	n := newSegment(s.base)
	n.idx = newIndexes()
	sc := l.scan(s, h, 0, size, make([]byte, scanBlock))
	control := false
	for {
		header, at, err := sc.next()
		if err != nil {
			if isEnd(err) {
				break
			}
			return fmt.Errorf("rebuild index: %w", err)
		}
		n.note(spanOf(header, at), l.indexInterval())
		control = control || header.Attributes.IsControl()
	}
	if control {
		if err := l.rebuildTxns(s, n.idx, n.next); err != nil {
			return fmt.Errorf("rebuild transaction index: %w", err)
		}
	}
	l.finishRebuild(s, n.idx)
	l.rebuilt.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	s.idx = n.idx
	s.largest, s.largestAt, s.first = n.largest, n.largestAt, n.first
	if size == 0 || n.next > s.base {
		s.next = max(n.next, s.base)
	}
	s.hasSeal = false
	return nil
}

// finishRebuild writes new indexes over whatever is in the files, as far as that is possible. Those of a retired segment
// stay in memory: its names are no longer its own.
func (l *Log) finishRebuild(s *segment, x *indexes) {
	l.mu.Lock()
	retired := s.retired
	l.mu.Unlock()
	if retired {
		return
	}
	for k, e := range inOrder(x) {
		kind := offsetIndexFile + fileKind(k)
		if len(e.tail) == 0 && kind == txnIndexFile {
			l.removeStaleTxnIndex(s)
			continue
		}
		h, err := l.open(s, kind)
		if err != nil {
			continue
		}
		err = h.file.Truncate(0)
		if err == nil {
			_, err = h.file.WriteAt(e.tail, 0)
		}
		l.files.release(h)
		if err == nil {
			e.written, e.tail = len(e.tail)/e.width, nil
		}
	}
}

// removeStaleTxnIndex removes the file of a segment without aborted transactions.
func (l *Log) removeStaleTxnIndex(s *segment) {
	l.files.forget(&s.files[txnIndexFile])
	_ = l.fs.Remove(segmentName(l.dir, s.base, suffixes[txnIndexFile])) // mostly it is not there
}

// rebuildTxns finds the aborted transactions whose markers are in s. Their first batches may be in earlier segments, so
// the producers are followed from the newest snapshot before s.
func (l *Log) rebuildTxns(s *segment, x *indexes, end kafka.Offset) error {
	state, err := l.producersAt(s.base)
	if err != nil {
		return err
	}
	segs := l.segmentsTo(s)
	return l.eachBatch(segs, state.End(), end, func(b record.Batch) error {
		txn, ok := state.Update(b, kafka.NoTimestamp)
		if ok && txn.Aborted && txn.Last >= s.base {
			addTxn(x, AbortedTransaction{txn.ProducerID, txn.First, txn.Last, txn.LastStable})
		}
		return nil
	})
}

func addTxn(x *indexes, t AbortedTransaction) {
	var b [txnEntryBytes]byte
	x.txns.add(appendTxnEntry(b[:0], t))
}

func spanOf(h record.Header, at int64) batchSpan {
	return batchSpan{last: h.LastOffset(), maxTimestamp: h.MaxTimestamp, position: at, size: h.Size}
}

// isEnd tells the end of a scan from a batch that is cut off, which wraps an EOF too.
func isEnd(err error) bool { return err == io.EOF }

// place is where a scan begins: at an indexed batch, or at the segment's first byte.
type place struct {
	position int64
	last     kafka.Offset // last offset of the batch there; NoOffset at the first byte
}

// floor is the place of the last indexed batch for which ok holds. The scanner that begins there compares the entry with
// the batch: files can be spoiled after the seal was compared too.
func (l *Log) floor(s *segment, e entries, ok func(last kafka.Offset, position int64) bool) (place, error) {
	at := place{0, kafka.NoOffset}
	err := l.search(s, offsetIndexFile, e, func(b []byte) bool {
		r, p := offsetEntry(b)
		return ok(s.base+kafka.Offset(r), p)
	}, func(entry []byte) {
		r, p := offsetEntry(entry)
		at = place{p, s.base + kafka.Offset(r)}
	})
	return at, err
}

// floorOffset is the place of the last indexed batch that ends at or before an offset.
func (l *Log) floorOffset(s *segment, e entries, offset kafka.Offset) (place, error) {
	return l.floor(s, e, func(last kafka.Offset, _ int64) bool { return last <= offset })
}

func (l *Log) badIndex(s *segment, k fileKind) error {
	return &badIndexError{CorruptError{File: segmentName(l.dir, s.base, suffixes[k]), What: "entry does not agree with the log"}}
}

// badIndexError is an index that was found to lie. It does not leave the package: the index is made anew.
type badIndexError struct{ CorruptError }

// withIndexes runs a look-up, and once more with new indexes when it found them lying. For readers.
func (l *Log) withIndexes(s *segment, lookUp func() error) error {
	err := lookUp()
	var bad *badIndexError
	if !errors.As(err, &bad) {
		return err
	}
	l.dropIndexes(s)
	return lookUp()
}

// dropIndexes forgets indexes, so that their next use makes them anew. Those of the active segment are the writer's: it
// makes them anew before its next append, and until then readers do without.
func (l *Log) dropIndexes(s *segment) {
	l.loadMu.Lock()
	defer l.loadMu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if s == l.segs[len(l.segs)-1] {
		s.suspect = true
		return
	}
	s.idx, s.hasSeal = nil, false
}

// search calls found with the last entry for which ok holds in a copy of one of the indexes, if there is one.
func (l *Log) search(s *segment, k fileKind, e entries, ok func(entry []byte) bool, found func(entry []byte)) error {
	var file io.ReaderAt
	if e.written > 0 {
		h, err := l.open(s, k)
		if err != nil {
			return err
		}
		defer l.files.release(h)
		file = h.file
	}
	buf := lookupBuffers.Get().(*[lookupBlock]byte)
	defer lookupBuffers.Put(buf)
	entry, err := e.last(file, buf[:], ok)
	switch {
	case err == io.EOF:
		return l.badIndex(s, k)
	case err != nil:
		return fmt.Errorf("read index: %w", err)
	case entry != nil:
		found(entry)
	}
	return nil
}
