package seglog

import (
	"os"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Clean fills the key map when it is called first, and then cleans the next group of segments into new files. It reads
// and writes much and must not be called under the partition's lock. more is false when the pass is done; otherwise
// Commit follows.
func (c *Compaction) Clean() (more bool, err error) {
	more, err = c.clean()
	if err != nil {
		err = c.l.faultBeside("compact", err)
	}
	return more, err
}

func (c *Compaction) clean() (more bool, err error) {
	if c.keys == nil {
		if err := c.fillKeys(); err != nil {
			return false, err
		}
		c.txns, err = c.newTxnTracker(c.segs[0].seg.base)
		if err != nil {
			return false, err
		}
	}
	if c.finished || c.rest == len(c.segs) || c.segs[c.rest].seg.base >= c.Report.Next {
		return false, nil
	}
	n := c.group()
	g, err := c.cleanGroup(c.segs[c.rest : c.rest+n])
	if err != nil {
		if g != nil {
			_ = g.discard() // the error that matters is the first
		}
		return false, err
	}
	c.cleaned = g
	c.rest += n
	return true, nil
}

// group is how many of the next segments go into one.
func (c *Compaction) group() int {
	first := c.segs[c.rest].seg
	size, entries, n := int64(0), 0, 0
	for _, v := range c.segs[c.rest:] {
		size += v.size
		entries += int(v.size)/max(int(c.cfg.IndexIntervalBytes), 1) + 1
		fits := size <= int64(c.cfg.SegmentBytes) && entries*timeEntryBytes <= int(c.cfg.SegmentIndexBytes) && v.next-1-first.base <= maxRelative
		if n > 0 && !fits || v.seg.base >= c.Report.Next {
			break
		}
		n++
	}
	return n
}

// fillKeys reads the dirty part until the key map is full.
func (c *Compaction) fillKeys() error {
	c.keys = newKeyMap(c.bounds.KeyMapBytes)
	txns, err := c.newTxnTracker(c.dirty.First)
	if err != nil {
		return err
	}
	c.Report.Complete = true
	for _, v := range c.segs {
		if v.next <= c.dirty.First || !c.Report.Complete {
			continue
		}
		err := c.eachBatch(v, func(h record.Header, b record.Batch) (bool, error) {
			if h.NextOffset() <= c.dirty.First {
				return true, nil
			}
			if h.Attributes.IsControl() {
				txns.marker(b)
			} else if !txns.aborted(h) {
				if c.keys.full(int(h.Count)) {
					c.Report.Complete = false
					return false, nil
				}
				if err := eachKey(b, c.dirty.First, c.keys.put); err != nil {
					return false, err
				}
			}
			c.keys.latest = h.LastOffset()
			c.Report.Next = h.NextOffset()
			return true, nil
		})
		if err != nil {
			return err
		}
		if c.Report.Complete {
			c.Report.Next = v.next
		}
	}
	return nil
}

func eachKey(b record.Batch, from kafka.Offset, fn func([]byte, kafka.Offset)) error {
	it := b.Records(maxDecompressed)
	defer it.Close()
	for it.Next() {
		if r := it.Record(); r.Key != nil && r.Offset >= from {
			fn(r.Key, r.Offset)
		}
	}
	return it.Err()
}

// eachBatch reads the whole batches of a segment until fn says stop.
func (c *Compaction) eachBatch(v view, fn func(record.Header, record.Batch) (more bool, err error)) error {
	h, err := c.l.open(v.seg, logFile)
	if err != nil {
		return err
	}
	defer c.l.files.release(h)
	sc := c.l.scan(v.seg, h, 0, v.size, make([]byte, scanBlock))
	for {
		header, at, err := sc.next()
		if isEnd(err) {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := sc.batch(at, header.Size)
		if err != nil {
			return err
		}
		if !b.CheckCRC() { // what is damaged must not be written again under a new checksum
			return c.l.badBatch(v.seg, at, "checksum of batch is wrong", nil)
		}
		if more, err := fn(header, b); err != nil || !more {
			if err != nil {
				err = c.l.badBatch(v.seg, at, "clean batch", err)
			}
			return err
		}
	}
}

// cleanedGroup is a new segment under temporary names.
type cleanedGroup struct {
	l       *Log
	sources []*segment // of the log
	seg     *segment   // its files bear cleanedSuffix
	next    kafka.Offset
}

func (g *cleanedGroup) name(k fileKind) string {
	return segmentName(g.l.dir, g.seg.base, suffixes[k]+cleanedSuffix)
}

func (g *cleanedGroup) discard() error {
	for k := range fileKinds {
		if err := g.l.removeFile(g.name(k)); err != nil {
			return err
		}
	}
	return nil
}

// cleanGroup writes what stays of the segments, and makes it durable.
func (c *Compaction) cleanGroup(sources []view) (*cleanedGroup, error) {
	g := &cleanedGroup{l: c.l, seg: newSegment(sources[0].seg.base), next: sources[len(sources)-1].next}
	for _, v := range sources {
		g.sources = append(g.sources, v.seg)
		g.seg.appended = max(g.seg.appended, v.seg.appended)
	}
	g.seg.idx = newIndexes()
	f, err := c.l.fs.OpenFile(g.name(logFile), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return g, err
	}
	w := &groupWriter{file: f, seg: g.seg, interval: c.l.indexInterval()}
	err = c.copyGroup(sources, w)
	if err == nil {
		err = w.flush()
	}
	if err == nil {
		if serr := f.Sync(); serr != nil {
			err = &vfs.SyncError{Err: serr}
		}
	}
	f.Close()
	if err != nil {
		return g, err
	}
	g.seg.noteTime()
	for k, e := range inOrder(g.seg.idx) {
		kind := offsetIndexFile + fileKind(k)
		if len(e.tail) == 0 && kind == txnIndexFile {
			continue
		}
		if err := writeNew(c.l.fs, g.name(kind), e.tail); err != nil {
			return g, err
		}
		e.written, e.tail = len(e.tail)/e.width, nil
	}
	return g, nil
}

// writeNew writes a file and makes its bytes durable.
func writeNew(fs vfs.FS, name string, data []byte) error {
	f, err := fs.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return &vfs.SyncError{Err: err}
	}
	return nil
}

func (c *Compaction) copyGroup(sources []view, w *groupWriter) error {
	filter := &batchFilter{c: c}
	for _, v := range sources {
		c.Report.BytesBefore += v.size
		c.Report.SegmentsBefore++
		err := c.eachBatch(v, func(h record.Header, b record.Batch) (bool, error) {
			kept, err := filter.keep(h, b, w.seg.idx)
			if err != nil || kept == nil {
				return true, err
			}
			return true, w.add(kept)
		})
		if err != nil {
			return err
		}
	}
	c.Report.BytesAfter += w.seg.size
	c.Report.SegmentsAfter++
	return nil
}

// groupWriter collects batches and writes them in large pieces.
type groupWriter struct {
	file     vfs.File
	seg      *segment
	interval int
	buf      []byte
	written  int64
}

const groupWriteBytes = 1 << 20

func (w *groupWriter) add(b record.Batch) error {
	w.seg.note(batchSpan{last: b.LastOffset(), maxTimestamp: b.MaxTimestamp(), position: w.seg.size, size: len(b)}, w.interval)
	w.seg.size += int64(len(b))
	w.buf = append(w.buf, b...)
	if len(w.buf) < groupWriteBytes {
		return nil
	}
	return w.flush()
}

func (w *groupWriter) flush() error {
	if _, err := w.file.WriteAt(w.buf, w.written); err != nil {
		return err
	}
	w.written += int64(len(w.buf))
	w.buf = w.buf[:0]
	return nil
}
