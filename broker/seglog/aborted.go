package seglog

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// AbortedTransaction is an entry of a transaction index: readers of committed records skip the producer's batches from
// First up to its marker at Last.
type AbortedTransaction struct {
	ProducerID kafka.ProducerID
	First      kafka.Offset
	Last       kafka.Offset // of the marker
	LastStable kafka.Offset // last stable offset when the marker was appended
}

// AbortedTransactions lists the aborted transactions that have records in [from, to), in the order of their markers. A
// fetch needs them for what it returns: from the offset asked for to the slice's NextOffset.
func (l *Log) AbortedTransactions(from, to kafka.Offset) ([]AbortedTransaction, error) {
	var out []AbortedTransaction
	err := l.again("list aborted transactions", func() error {
		out = out[:0]
		for at := from; ; {
			v, ok := l.refFor(at)
			if !ok {
				return nil
			}
			done, err := l.abortedIn(v, from, to, &out)
			l.unref(v.seg)
			if err != nil || done || v.last {
				return err
			}
			at = v.next
		}
	})
	return out, err
}

// abortedIn adds those of one segment. done when no later marker can belong to a transaction that began before to: the
// last stable offset had passed it.
func (l *Log) abortedIn(v view, from, to kafka.Offset, out *[]AbortedTransaction) (done bool, err error) {
	x, err := l.indexesOf(v.seg)
	if err != nil {
		return false, err
	}
	e := x.txns
	// Markers rise, so what ended before from comes first: at most what lies between two samples is read in vain.
	at := max(search(e.samples, e.width, func(b []byte) bool { return txnEntry(b).Last < from })-1, 0) * sampleEvery
	r := txnReader{l: l, seg: v.seg, entries: e}
	defer r.close()
	for at < e.count() {
		block, err := r.block(at)
		if err != nil {
			return false, err
		}
		for ; len(block) > 0; block = block[e.width:] {
			at++
			t := txnEntry(block)
			if t.Last < from {
				continue
			}
			if t.First < to {
				*out = append(*out, t)
			}
			if t.LastStable >= to {
				return true, nil
			}
		}
	}
	return false, nil
}

// txnReader reads a transaction index in blocks: it may be of any length.
type txnReader struct {
	l       *Log
	seg     *segment
	entries entries
	h       *handle // of the file, once it was needed
	buf     *[lookupBlock]byte
}

// block gives some entries from one on, valid until the next call.
func (r *txnReader) block(at int) ([]byte, error) {
	e := &r.entries
	if at >= e.written {
		return e.tail[(at-e.written)*e.width:], nil
	}
	if r.h == nil {
		h, err := r.l.open(r.seg, txnIndexFile)
		if err != nil {
			return nil, err
		}
		r.h, r.buf = h, lookupBuffers.Get().(*[lookupBlock]byte)
	}
	block := r.buf[:min(lookupBlock/e.width, e.written-at)*e.width]
	if n, err := r.h.file.ReadAt(block, int64(at*e.width)); n < len(block) {
		return nil, &CorruptError{
			File: segmentName(r.l.dir, r.seg.base, suffixes[txnIndexFile]), Position: int64(at * e.width), What: "file is shorter than it was", Err: err,
		}
	}
	return block, nil
}

func (r *txnReader) close() {
	if r.h != nil {
		r.l.files.release(r.h)
		lookupBuffers.Put(r.buf)
	}
}
