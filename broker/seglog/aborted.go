package seglog

import (
	"encoding/binary"

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
	n := e.count()
	if n == 0 {
		return false, nil
	}
	// Markers rise, so what ended before from comes first.
	var skip int
	raw := make([]byte, e.written*e.width)
	if e.written > 0 {
		h, err := l.open(v.seg, txnIndexFile)
		if err != nil {
			return false, err
		}
		got, err := h.file.ReadAt(raw, 0)
		l.files.release(h)
		if got < len(raw) {
			return false, &CorruptError{File: segmentName(l.dir, v.seg.base, suffixes[txnIndexFile]), What: "file is shorter than it was", Err: err}
		}
	}
	raw = append(raw, e.tail...)
	for skip < n && kafka.Offset(binary.BigEndian.Uint64(raw[skip*e.width+18:])) < from {
		skip++
	}
	for i := skip; i < n; i++ {
		t := txnEntry(raw[i*e.width:])
		if t.First < to && t.Last >= from {
			*out = append(*out, t)
		}
		if t.LastStable >= to {
			return true, nil
		}
	}
	return false, nil
}
