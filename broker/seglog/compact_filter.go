package seglog

import (
	"cmp"
	"math"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/producerstate"
	"github.com/fairlead-io/fairlead/broker/record"
)

// lastBatch is the end of what a known producer has written.
type lastBatch struct {
	offset kafka.Offset // last offset of its last data batch; NoOffset: it wrote none in this epoch
	epoch  kafka.ProducerEpoch
}

func lastBatches(s *producerstate.State) map[kafka.ProducerID]lastBatch {
	if s.Len() == 0 {
		return nil
	}
	last := make(map[kafka.ProducerID]lastBatch, s.Len())
	for _, p := range s.Producers() {
		last[p.ID] = lastBatch{p.LastOffset, p.Epoch}
	}
	return last
}

// txnTracker follows transactions over the batches of a pass, in offset order.
type txnTracker struct {
	ahead     []AbortedTransaction              // by first offset, not begun yet
	open      map[kafka.ProducerID]*openAborted // aborted ones that have begun
	committed map[kafka.ProducerID]bool         // have data in this pass and no marker yet
}

type openAborted struct {
	AbortedTransaction
	seen bool // it had data in this pass
}

// newTxnTracker knows the aborted transactions with markers at or behind from.
func (c *Compaction) newTxnTracker(from kafka.Offset) (*txnTracker, error) {
	t := &txnTracker{open: map[kafka.ProducerID]*openAborted{}, committed: map[kafka.ProducerID]bool{}}
	for _, v := range c.segs {
		if v.next <= from {
			continue
		}
		if _, err := c.l.abortedIn(v, from, maxOffset, &t.ahead); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(t.ahead, func(a, b AbortedTransaction) int { return cmp.Compare(a.First, b.First) })
	return t, nil
}

const maxOffset = kafka.Offset(1<<63 - 1)

// begin moves on to an offset.
func (t *txnTracker) begin(offset kafka.Offset) {
	for len(t.ahead) > 0 && t.ahead[0].First <= offset {
		a := t.ahead[0]
		t.ahead = t.ahead[1:]
		t.open[a.ProducerID] = &openAborted{AbortedTransaction: a}
	}
}

// aborted takes a data batch and tells whether it is of an aborted transaction.
func (t *txnTracker) aborted(h record.Header) bool {
	if !h.Attributes.IsTransactional() {
		return false
	}
	t.begin(h.LastOffset())
	if a := t.open[h.ProducerID]; a != nil {
		a.seen = true
		return true
	}
	t.committed[h.ProducerID] = true
	return false
}

// marker takes a control batch and tells whether the pass met no data of its transaction; aborted is the index entry
// that must stay because it did: a reader may hold that data still.
func (t *txnTracker) marker(b record.Batch) (empty bool, aborted *AbortedTransaction) {
	kind, ok, err := b.ControlKind()
	if err != nil {
		return false, nil
	}
	if !ok { // emptied by an earlier pass
		return true, nil
	}
	t.begin(b.BaseOffset())
	id := b.ProducerID()
	switch kind {
	case record.ControlAbort:
		a := t.open[id]
		delete(t.open, id)
		if a != nil && a.seen {
			return false, &a.AbortedTransaction
		}
		return true, nil
	case record.ControlCommit:
		seen := t.committed[id]
		delete(t.committed, id)
		return !seen, nil
	}
	return false, nil
}

// batchFilter decides what stays of a batch.
type batchFilter struct {
	c       *Compaction
	builder record.Builder
}

// keep gives what stays of a batch: the batch itself, one made anew, or nil. It is valid until the next call.
func (f *batchFilter) keep(h record.Header, b record.Batch, x *indexes) (record.Batch, error) {
	c := f.c
	c.Report.RecordsBefore += int64(h.Count)
	horizon, hasHorizon := b.DeleteHorizon()
	expired := hasHorizon && horizon <= c.now
	control := h.Attributes.IsControl()

	var dropAll, emptyTxn bool
	if control {
		empty, aborted := c.txns.marker(b)
		if aborted != nil {
			addTxn(x, *aborted)
		}
		emptyTxn, dropAll = empty, empty && expired
	} else {
		dropAll = c.txns.aborted(h)
	}
	keepEmpty := c.isLastOfProducer(h) || h.NextOffset() == c.Report.Next

	if control && !dropAll && (hasHorizon || !emptyTxn) {
		c.Report.RecordsAfter += int64(h.Count)
		return b, nil
	}
	return f.rebuild(h, b, dropAll, keepEmpty, expired, emptyTxn)
}

// rebuild goes through the records. The batch stays as it is when none goes and no horizon is to be set.
func (f *batchFilter) rebuild(h record.Header, b record.Batch, dropAll, keepEmpty, expired, emptyTxn bool) (record.Batch, error) {
	c := f.c
	kept, tombstones := 0, false
	if !dropAll {
		it := b.Records(maxDecompressed)
		for it.Next() {
			r := it.Record()
			if c.keeps(h, r, expired) {
				kept++
				tombstones = tombstones || r.Value == nil && !h.Attributes.IsControl()
			}
		}
		err := it.Err()
		it.Close()
		if err != nil {
			return nil, err
		}
	}
	_, hasHorizon := b.DeleteHorizon()
	setHorizon := !hasHorizon && (tombstones || emptyTxn)
	switch {
	case kept == 0 && !keepEmpty:
		return nil, nil
	case kept == int(h.Count) && !setHorizon:
		c.Report.RecordsAfter += int64(kept)
		return b, nil
	}
	o := record.BuilderOptions{
		BaseOffset: h.BaseOffset, LastOffset: h.LastOffset(), LeaderEpoch: h.LeaderEpoch, Codec: h.Attributes.Codec(),
		Idempotent: b.HasProducer(), ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch, BaseSequence: h.BaseSequence,
		Transactional: h.Attributes.IsTransactional(), Control: h.Attributes.IsControl(),
	}
	if h.Attributes.TimestampType() == record.LogAppendTime {
		o.LogAppendTime = h.MaxTimestamp
	}
	if horizon, ok := b.DeleteHorizon(); ok {
		o.DeleteHorizon = horizon
	} else if setHorizon {
		o.DeleteHorizon = c.horizon()
	}
	f.builder.Reset(o)
	if kept > 0 {
		it := b.Records(maxDecompressed)
		defer it.Close()
		for it.Next() {
			if r := it.Record(); c.keeps(h, r, expired) {
				f.builder.AddRecord(r)
			}
		}
		if err := it.Err(); err != nil {
			return nil, err
		}
	}
	c.Report.RecordsAfter += int64(kept)
	return f.builder.Build()
}

// horizon is when what this pass marks may go.
func (c *Compaction) horizon() kafka.Timestamp {
	retention := kafka.Timestamp(max(c.cfg.DeleteRetentionMs, 0))
	if c.now > math.MaxInt64-retention {
		return math.MaxInt64
	}
	return c.now + retention
}

// keeps tells whether a record of a batch that is not dropped stays.
func (c *Compaction) keeps(h record.Header, r *record.Record, expired bool) bool {
	switch {
	case h.Attributes.IsControl() || r.Offset > c.keys.latest:
		return true
	case r.Key == nil || r.Offset < c.keys.get(r.Key):
		return false
	}
	return r.Value != nil || !expired
}

// isLastOfProducer tells whether the batch is what is known of a producer's sequence.
func (c *Compaction) isLastOfProducer(h record.Header) bool {
	last, ok := c.last[h.ProducerID]
	switch {
	case h.ProducerID == kafka.NoProducerID || !ok:
		return false
	case last.offset == kafka.NoOffset:
		return h.Attributes.IsControl() && h.ProducerEpoch == last.epoch
	}
	return h.LastOffset() == last.offset
}
