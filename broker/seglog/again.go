package seglog

import (
	"fmt"
	"io"

	"github.com/fairlead-io/fairlead/broker/vfs"
)

// After a failed fsync the kernel may count pages as written that are not. The process that saw the error goes offline; the next one reads
// those pages from the cache, whole and with good checksums, and its own fsyncs pass without writing them. So after an unclean stop what
// nothing proves to be on the disk is written again, with the same bytes, before an fsync vouches for it: the batches from the recovery point
// or the seal on, and the journal before its next record. It is little: a broker flushes what is old or much (see package partition).

// writeAgain writes the batches again that the last process may have left to the cache. A full disk can refuse even that: then it is
// done by the next flush, which vouches for nothing before.
func (l *Log) writeAgain() error {
	for _, s := range l.segs[l.unsynced:] {
		if err := l.writeSegmentAgain(s); err != nil {
			return err
		}
	}
	l.unproven = false
	return nil
}

func (l *Log) writeSegmentAgain(s *segment) error {
	indexed, from := l.indexed(s)
	if s.next <= l.flushed || s.size == 0 || from == s.size {
		return nil
	}
	if indexed {
		at, err := l.floorOffset(s, s.idx.offsets, l.flushed-1)
		if err != nil {
			return err
		}
		from = max(from, at.position)
	}
	h, err := l.open(s, logFile)
	if err != nil {
		return err
	}
	defer l.files.release(h)
	return copyOver(h.file, from, s.size)
}

// copyOver writes the bytes of a file over themselves.
func copyOver(f vfs.File, from, to int64) error {
	buf := make([]byte, min(scanBlock, to-from))
	for from < to {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), to-from)], from)
		if n == 0 {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read the tail: %w", err)
		}
		if _, err := f.WriteAt(buf[:n], from); err != nil {
			return fmt.Errorf("write the tail again: %w", err)
		}
		from += int64(n)
	}
	return nil
}
