package seglog

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Blocks that a scanner reads: lookupBlock covers what lies between two index entries in one read, scanBlock is for
// whole segments.
const (
	lookupBlock = 8 << 10
	scanBlock   = 64 << 10
)

var lookupBuffers = sync.Pool{New: func() any { return new([lookupBlock]byte) }}

// scanner walks over the batch headers of [pos, end) of a segment file. It believes sizes, not contents.
type scanner struct {
	file vfs.File
	dir  string
	seg  *segment
	pos  int64 // of the next header
	end  int64
	base kafka.Offset // offsets must not be below; rises from batch to batch

	// expect is the last offset that an index promised for the first batch, NoOffset: nothing was promised.
	expect kafka.Offset

	progress func(bytes int) // may be nil

	buf    []byte // its length is the block
	bufPos int64  // position of buf[0]
	bufLen int
}

// next gives the next header and its position; io.EOF at the end. A header that cannot be is a CorruptError, or a
// badIndexError where an index led to it.
func (s *scanner) next() (record.Header, int64, error) {
	if s.expect == kafka.NoOffset {
		return s.read()
	}
	h, at, err := s.read()
	if isEnd(err) || errors.Is(err, ErrCorrupt) || err == nil && h.LastOffset() != s.expect {
		return record.Header{}, 0, &badIndexError{CorruptError{File: s.name(), Position: s.pos, What: fmt.Sprintf("no batch that ends at offset %d, as its index says", s.expect)}}
	}
	s.expect = kafka.NoOffset
	return h, at, err
}

func (s *scanner) read() (record.Header, int64, error) {
	if s.pos >= s.end {
		return record.Header{}, 0, io.EOF
	}
	b, err := s.view(record.HeaderSize)
	if err != nil {
		return record.Header{}, 0, err
	}
	h, err := record.ParseHeader(b)
	if err != nil {
		return record.Header{}, 0, s.corrupt("batch header", err)
	}
	switch {
	case s.pos+int64(h.Size) > s.end:
		return record.Header{}, 0, s.corrupt("batch is longer than the file", io.ErrUnexpectedEOF)
	case h.BaseOffset < s.base:
		return record.Header{}, 0, s.corrupt(fmt.Sprintf("batch offset %d is below %d", h.BaseOffset, s.base), nil)
	}
	at := s.pos
	s.pos += int64(h.Size)
	s.base = h.NextOffset()
	return h, at, nil
}

// view gives n bytes at pos, fewer only with an error.
func (s *scanner) view(n int) ([]byte, error) {
	if off := s.pos - s.bufPos; off >= 0 && off+int64(n) <= int64(s.bufLen) {
		return s.buf[off : off+int64(n)], nil
	}
	if left := s.end - s.pos; left < int64(n) {
		return nil, s.corrupt("batch is cut off", io.ErrUnexpectedEOF)
	}
	want := int(min(int64(max(len(s.buf), n)), s.end-s.pos))
	if len(s.buf) < want {
		s.buf = make([]byte, max(want, n))
	}
	got, err := s.file.ReadAt(s.buf[:want], s.pos)
	s.bufPos, s.bufLen = s.pos, got
	if s.progress != nil {
		s.progress(got)
	}
	if got >= n {
		return s.buf[:n], nil
	}
	if err == nil || err == io.EOF {
		return nil, s.corrupt("file is shorter than it was", io.ErrUnexpectedEOF)
	}
	return nil, fmt.Errorf("read %s at %d: %w", s.name(), s.pos, err)
}

// batch gives the whole batch of the header that next just returned, valid until the next call.
func (s *scanner) batch(at int64, size int) (record.Batch, error) {
	next := s.pos
	s.pos = at
	b, err := s.view(size)
	s.pos = next
	return record.Batch(b), err
}

func (s *scanner) name() string { return segmentName(s.dir, s.seg.base, suffixes[logFile]) }

func (s *scanner) corrupt(what string, err error) error {
	return &CorruptError{File: s.name(), Position: s.pos, What: what, Err: err}
}

// scan makes a scanner over [from, to) of a segment whose log file is open.
func (l *Log) scan(s *segment, h *handle, from, to int64, buf []byte) *scanner {
	return &scanner{file: h.file, dir: l.dir, seg: s, pos: from, end: to, base: s.base, buf: buf, expect: kafka.NoOffset, progress: l.progress}
}

// scanAt makes one that begins where an index said. The index may have grown beyond the view; then nothing is seen.
func (l *Log) scanAt(v view, h *handle, from place, buf []byte) *scanner {
	if from.position >= v.size && from.last >= v.next {
		from = place{v.size, kafka.NoOffset}
	}
	sc := l.scan(v.seg, h, from.position, v.size, buf)
	sc.expect = from.last
	return sc
}

// eachBatch calls fn for the batches with offsets in [from, to), in order. Data batches are given as their headers
// alone, control batches whole. It is for the writer, or for a reader that holds references to the segments.
func (l *Log) eachBatch(segs []*segment, from, to kafka.Offset, fn func(record.Batch) error) error {
	buf := make([]byte, scanBlock)
	for _, s := range segs {
		if s.base >= to || s.next <= from {
			continue
		}
		if err := l.eachBatchOf(s, from, to, buf, fn); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) eachBatchOf(s *segment, from, to kafka.Offset, buf []byte, fn func(record.Batch) error) error {
	h, err := l.open(s, logFile)
	if err != nil {
		return err
	}
	defer l.files.release(h)
	l.mu.Lock()
	size, next := s.size, s.next
	var index *entries
	if s.idx != nil {
		e := s.idx.offsets
		index = &e
	}
	l.mu.Unlock()
	at := place{0, kafka.NoOffset}
	if from > s.base && index != nil {
		if at, err = l.floorOffset(s, *index, from); err != nil {
			at = place{0, kafka.NoOffset} // slower, and as good
		}
	}
	sc := l.scanAt(view{seg: s, size: size, next: next}, h, at, buf)
	for {
		header, at, err := sc.next()
		switch {
		case isEnd(err) || err == nil && header.BaseOffset >= to:
			return nil
		case err != nil:
			return err
		case header.NextOffset() <= from:
			continue
		}
		size := record.HeaderSize
		if header.Attributes.IsControl() {
			size = header.Size
		}
		b, err := sc.batch(at, size)
		if err != nil {
			return err
		}
		if err := fn(b); err != nil {
			return err
		}
	}
}
