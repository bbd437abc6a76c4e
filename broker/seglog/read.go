package seglog

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// ReadRequest asks for whole batches from an offset on.
type ReadRequest struct {
	From     kafka.Offset
	Limit    kafka.Offset // only batches that end at or before it; beyond the log's end: the end
	MaxBytes int
	// AtLeastOneBatch gives the first batch though it is larger than MaxBytes, so that a reader gets on.
	AtLeastOneBatch bool
}

// readAttempts is how often a read starts again when a segment that it was about to open was deleted or replaced.
const readAttempts = 5

// Read finds the batch that holds From, or the next one, and gives as many whole batches from there on as fit, all of one
// segment. It is empty when there is nothing to read below Limit, or when the first batch is too large. From must be in
// [StartOffset, EndOffset], otherwise the error is ErrOffsetOutOfRange. The time it takes does not depend on the size
// of the log: a search in the index of one segment, and the headers between two of its entries.
func (l *Log) Read(r ReadRequest) (Slice, error) {
	var err error
	for range readAttempts {
		var s Slice
		if s, err = l.tryRead(r); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return Slice{}, fmt.Errorf("read at offset %d: %w", r.From, err)
}

// view is what a reader knows of a segment to which it holds a reference: the segment may grow meanwhile.
type view struct {
	seg  *segment
	size int64
	next kafka.Offset // end of the view
	last bool         // it is the active segment
}

// refFor takes a reference to the segment that holds offset, or to the first one behind it.
func (l *Log) refFor(offset kafka.Offset) (view, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refLocked(offset)
}

func (l *Log) refLocked(offset kafka.Offset) (view, bool) {
	lo, hi := 0, len(l.segs) // segs[:lo] have base <= offset
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if l.segs[mid].base <= offset {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	i := max(lo-1, 0)
	for ; i < len(l.segs); i++ {
		if s := l.segs[i]; s.next > offset && s.size > 0 {
			s.refs++
			return view{seg: s, size: s.size, next: s.next, last: i == len(l.segs)-1}, true
		}
	}
	return view{}, false
}

func (l *Log) tryRead(r ReadRequest) (Slice, error) {
	l.mu.Lock()
	start, end := l.start, l.end
	if r.From < start || r.From > end {
		l.mu.Unlock()
		return Slice{}, &RangeError{Offset: r.From, Start: start, End: end}
	}
	limit := min(r.Limit, end)
	from := r.From
	empty := Slice{FirstOffset: from, NextOffset: from}
	for {
		if from >= limit || r.MaxBytes <= 0 && !r.AtLeastOneBatch {
			l.mu.Unlock()
			return empty, nil
		}
		v, ok := l.refLocked(from)
		if !ok {
			l.mu.Unlock()
			return empty, nil
		}
		posFrom, haveFrom := l.hints.find(v.seg, from)
		posLimit, haveLimit := l.hints.find(v.seg, limit)
		l.mu.Unlock()

		q := query{l: l, v: v, from: from, limit: limit, max: int64(r.MaxBytes), atLeastOne: r.AtLeastOneBatch}
		if haveFrom {
			q.hintFrom = &posFrom
		}
		if haveLimit {
			q.hintLimit = &posLimit
		}
		s, found, err := q.run()
		if err != nil || found {
			if s.Len == 0 {
				l.unref(v.seg)
				if err == nil {
					s = empty
				}
			}
			return s, err
		}
		l.unref(v.seg)
		if v.last {
			return empty, nil
		}
		// The segment's end is a gap that compaction left: the next segment goes on.
		from = v.next
		l.mu.Lock()
	}
}

// query is one read in one segment.
type query struct {
	l           *Log
	v           view
	from, limit kafka.Offset
	max         int64
	atLeastOne  bool
	hintFrom    *int64
	hintLimit   *int64
}

// run gives the slice, with the reference of the view handed over to it. found is false when no batch of the segment
// holds or follows from. An empty slice that was found is one whose first batch may not be given.
func (q *query) run() (s Slice, found bool, err error) {
	l := q.l
	h, err := l.open(q.v.seg, logFile)
	if err != nil {
		return Slice{}, false, err
	}
	defer func() {
		if s.Len == 0 {
			l.files.release(h)
		}
	}()
	first, ok, err := q.first(h)
	if err != nil || !ok {
		return Slice{}, false, err
	}
	stop, err := q.stop(h, first)
	if err != nil {
		return Slice{}, true, err
	}
	if stop.position <= first.position {
		return Slice{}, true, nil
	}
	l.mu.Lock()
	if !q.v.seg.retired {
		l.hints.add(q.v.seg, stop.next, stop.position)
	}
	l.mu.Unlock()
	return Slice{
		File: h.file, Pos: first.position, Len: int(stop.position - first.position),
		FirstOffset: first.next, NextOffset: stop.next, log: l, seg: q.v.seg, h: h,
	}, true, nil
}

// bound is a border between batches: the batches behind position have offsets from next on.
type bound struct {
	position int64
	next     kafka.Offset
}

// first is where the batch begins that holds from, or that follows when from is in a gap.
func (q *query) first(h *handle) (bound, bool, error) {
	if q.hintFrom != nil {
		return bound{*q.hintFrom, q.from}, *q.hintFrom < q.v.size, nil
	}
	if q.from <= q.v.seg.base {
		return bound{0, q.from}, true, nil
	}
	header, at, err := q.l.find(q.v, h, q.from)
	if err != nil || at < 0 {
		return bound{}, false, err
	}
	return bound{at, min(q.from, header.BaseOffset)}, true, nil
}

// stop is the end of the slice: whole batches, below limit, at most max bytes unless the first is larger.
func (q *query) stop(h *handle, first bound) (bound, error) {
	end := bound{q.v.size, q.v.next}
	switch {
	case q.limit >= q.v.next:
	case q.hintLimit != nil:
		end = bound{*q.hintLimit, q.limit}
	default:
		header, at, err := q.l.find(q.v, h, q.limit-1)
		if err != nil {
			return bound{}, err
		}
		// The batch that holds limit-1 ends there, or it ends beyond and is not given.
		if at >= 0 && header.NextOffset() <= q.limit {
			end = bound{at + int64(header.Size), header.NextOffset()}
		} else if at >= 0 {
			end = bound{at, header.BaseOffset}
		}
	}
	if end.position-first.position <= q.max {
		return end, nil
	}
	return q.shorten(h, first, end)
}

// shorten moves the end back to the last border within max bytes.
func (q *query) shorten(h *handle, first, end bound) (got bound, err error) {
	err = q.l.withIndexes(q.v.seg, func() error {
		got, err = q.tryShorten(h, first, end)
		return err
	})
	return got, err
}

func (q *query) tryShorten(h *handle, first, end bound) (bound, error) {
	most := first.position + q.max
	x, err := q.l.indexesOf(q.v.seg)
	if err != nil {
		return bound{}, err
	}
	start, err := q.l.floor(q.v.seg, x.offsets, func(_ kafka.Offset, p int64) bool { return p <= most })
	if err != nil {
		return bound{}, err
	}
	if start.position < first.position {
		start = place{first.position, kafka.NoOffset}
	}
	buf := lookupBuffers.Get().(*[lookupBlock]byte)
	defer lookupBuffers.Put(buf)
	sc := q.l.scanAt(view{seg: q.v.seg, size: end.position, next: end.next}, h, start, buf[:])
	got := first
	for {
		header, at, err := sc.next()
		if err != nil {
			if isEnd(err) {
				return got, nil
			}
			return bound{}, err
		}
		after := bound{at + int64(header.Size), header.NextOffset()}
		if after.position > most {
			if at == first.position && q.atLeastOne {
				return after, nil
			}
			if at > got.position { // the scan began here
				got = bound{at, header.BaseOffset}
			}
			return got, nil
		}
		got = after
	}
}

// find gives the header and position of the first batch of the view with an offset at or behind the one asked for,
// position -1 when there is none. It reads the index, and the headers between two entries.
func (l *Log) find(v view, h *handle, offset kafka.Offset) (header record.Header, at int64, err error) {
	err = l.withIndexes(v.seg, func() error {
		header, at, err = l.tryFind(v, h, offset)
		return err
	})
	return header, at, err
}

func (l *Log) tryFind(v view, h *handle, offset kafka.Offset) (record.Header, int64, error) {
	x, err := l.indexesOf(v.seg)
	if err != nil {
		return record.Header{}, 0, err
	}
	from, err := l.floorOffset(v.seg, x.offsets, offset)
	if err != nil {
		return record.Header{}, 0, err
	}
	buf := lookupBuffers.Get().(*[lookupBlock]byte)
	defer lookupBuffers.Put(buf)
	sc := l.scanAt(v, h, from, buf[:])
	for {
		header, at, err := sc.next()
		if isEnd(err) {
			return record.Header{}, -1, nil
		}
		if err != nil {
			return record.Header{}, 0, err
		}
		if header.LastOffset() >= offset {
			return header, at, nil
		}
	}
}

// indexesOf loads the indexes and gives a copy that stays as it is, an empty one when they are known to lie.
func (l *Log) indexesOf(s *segment) (indexes, error) {
	for {
		if err := l.loadIndexes(s); err != nil {
			return indexes{}, err
		}
		l.mu.Lock()
		x, suspect := s.idx, s.suspect
		if x != nil && !suspect {
			c := *x
			l.mu.Unlock()
			return c, nil
		}
		l.mu.Unlock()
		if suspect {
			return *newIndexes(), nil
		}
	}
}
