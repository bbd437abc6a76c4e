package seglog

import (
	"fmt"
	"io"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Slice is a range of whole batches in one segment file. It holds a reference: the bytes stay readable and the same
// though the segment is deleted, truncated or compacted meanwhile. Release it exactly once; the zero Slice is empty and
// needs no Release. A Slice is a value that one owner passes on, not a thing to copy and release twice.
type Slice struct {
	File vfs.File // for sendfile, by File.Fd; valid until Release
	Pos  int64    // in File
	Len  int      // bytes, 0: nothing to read now

	// Every record of the log with an offset in [FirstOffset, NextOffset) is in the slice. FirstOffset may be below the
	// offset that was asked for, which can be inside a batch. Readers go on at NextOffset.
	FirstOffset kafka.Offset
	NextOffset  kafka.Offset

	log *Log
	seg *segment
	h   *handle
}

// Release gives the reference back. It does nothing for an empty Slice, or the second time.
func (s *Slice) Release() {
	if s.log == nil {
		return
	}
	l := s.log
	s.log = nil
	l.files.release(s.h)
	l.unref(s.seg)
	s.File, s.h, s.seg = nil, nil, nil
}

// ReadAt reads at a position in the slice.
func (s *Slice) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > int64(s.Len) {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	short := false
	if left := int64(s.Len) - off; int64(len(p)) > left {
		p, short = p[:left], true
	}
	if len(p) == 0 {
		return 0, io.EOF
	}
	n, err := s.File.ReadAt(p, s.Pos+off)
	if err == nil && short || err == io.EOF && n == len(p) {
		err = nil
		if short {
			err = io.EOF
		}
	}
	if err != nil && err != io.EOF {
		err = fmt.Errorf("read slice at offset %d: %w", s.FirstOffset, err)
	}
	return n, err
}

// Bytes reads the whole slice into new memory.
func (s *Slice) Bytes() ([]byte, error) {
	if s.Len == 0 {
		return nil, nil
	}
	b := make([]byte, s.Len)
	if n, err := s.ReadAt(b, 0); n < len(b) {
		if err == nil || err == io.EOF {
			err = fmt.Errorf("read slice at offset %d: %w", s.FirstOffset, io.ErrUnexpectedEOF)
		}
		return nil, err
	}
	return b, nil
}

// unref ends a reference to a segment. The last one of a retired segment closes its files.
func (l *Log) unref(s *segment) {
	l.mu.Lock()
	s.refs--
	var pins []*handle
	if s.refs == 0 && s.retired {
		pins, s.pins = s.pins, nil
	}
	l.mu.Unlock()
	for _, h := range pins {
		l.files.release(h)
	}
	if len(pins) > 0 {
		l.forgetFilesOf(s)
	}
}

// retire takes segments out of the log while readers may use them: the files that those readers may still need are
// opened and pinned, since their names are about to go, or to mean other files. commit takes the segments out of
// l.segs, and changes names that the log goes on to use; it is called with mu held. For the writer.
func (l *Log) retire(segs []*segment, commit func() error) error {
	l.loadMu.Lock() // nobody makes indexes anew by name while names change
	defer l.loadMu.Unlock()
	pins := make(map[*segment][]*handle)
	for {
		var use *segment // has readers, and is not pinned yet
		l.mu.Lock()
		for _, s := range segs {
			if s.refs > 0 && pins[s] == nil {
				use = s
				break
			}
		}
		if use == nil {
			break // with mu held
		}
		l.mu.Unlock()
		if err := l.pin(use, pins); err != nil {
			l.unpin(segs, pins)
			return err
		}
	}
	if err := commit(); err != nil {
		l.mu.Unlock()
		l.unpin(segs, pins)
		return err
	}
	l.hints.clear()
	var unused []*handle
	var forget []*segment
	for _, s := range segs {
		s.retired = true
		if s.refs > 0 {
			s.pins = pins[s]
		} else {
			unused = append(unused, pins[s]...)
			forget = append(forget, s)
		}
	}
	l.mu.Unlock()
	for _, h := range unused {
		l.files.release(h)
	}
	for _, s := range forget {
		l.forgetFilesOf(s)
	}
	return nil
}

func (l *Log) unpin(segs []*segment, pins map[*segment][]*handle) {
	for _, s := range segs {
		for _, h := range pins[s] {
			l.files.release(h)
		}
	}
}

// pin opens the files of a segment that its readers may use.
func (l *Log) pin(s *segment, pins map[*segment][]*handle) error {
	for k := logFile; k < fileKinds; k++ {
		if k == txnIndexFile && !s.hasTxns() {
			continue
		}
		h, err := l.open(s, k)
		if err != nil {
			return err
		}
		pins[s] = append(pins[s], h)
	}
	return nil
}

// hasTxns tells whether the segment has a transaction index file. Called with loadMu held.
func (s *segment) hasTxns() bool {
	return s.idx != nil && s.idx.txns.written > 0 || s.idx == nil && s.hasSeal && s.sealed.txns.bytes > 0
}
