package producerstate_test

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/producerstate"
	"github.com/fairlead-io/fairlead/broker/record"
)

// log appends batches to a state as a leader does.
type log struct {
	t   testing.TB
	s   *producerstate.State
	now kafka.Timestamp
}

func newLog(t testing.TB) *log {
	return &log{t: t, s: producerstate.New(0, producerstate.Options{}), now: 1000}
}

// batch makes one of n records from sequence seq.
func batch(id kafka.ProducerID, epoch kafka.ProducerEpoch, seq int32, n int, transactional bool) record.Batch {
	b := record.NewBuilder(record.BuilderOptions{
		Idempotent: true, ProducerID: id, ProducerEpoch: epoch, BaseSequence: seq, Transactional: transactional,
	})
	for range n {
		b.Add(5, nil, []byte("v"))
	}
	out, err := b.Build()
	if err != nil {
		panic(err)
	}
	return out
}

func (l *log) append(b record.Batch) (producerstate.CompletedTxn, bool) {
	b.SetBaseOffset(l.s.End())
	return l.s.Update(b, l.now)
}

// produce is what a client sees.
func (l *log) produce(b record.Batch) (kafka.Offset, kafka.ErrorCode) {
	dup, code := l.s.Check(b, producerstate.Client)
	switch {
	case code != kafka.None:
		return kafka.NoOffset, code
	case dup != nil:
		return dup.BaseOffset, kafka.None
	}
	base := l.s.End()
	l.append(b)
	return base, kafka.None
}

func (l *log) want(name string, b record.Batch, base kafka.Offset, code kafka.ErrorCode) {
	l.t.Helper()
	if gotBase, got := l.produce(b); got != code || gotBase != base {
		l.t.Errorf("%s: offset %d and %v, want %d and %v", name, gotBase, got, base, code)
	}
}

func TestAnyOfTheLastFiveBatchesIsRecognised(t *testing.T) {
	l := newLog(t)
	for seq := range int32(10) {
		l.want("new", batch(7, 0, 3*seq, 3, false), kafka.Offset(3*seq), kafka.None)
	}
	for seq := int32(5); seq < 10; seq++ {
		l.want("again", batch(7, 0, 3*seq, 3, false), kafka.Offset(3*seq), kafka.None)
	}
	l.want("sixth from the end", batch(7, 0, 12, 3, false), -1, kafka.OutOfOrderSequenceNumber)
	l.want("same start, other length", batch(7, 0, 27, 2, false), -1, kafka.OutOfOrderSequenceNumber)
	l.want("gap", batch(7, 0, 31, 1, false), -1, kafka.OutOfOrderSequenceNumber)
	l.want("next", batch(7, 0, 30, 1, false), 30, kafka.None)
	l.want("higher epoch, not from 0", batch(7, 1, 31, 1, false), -1, kafka.OutOfOrderSequenceNumber)
	l.want("higher epoch", batch(7, 1, 0, 1, false), 31, kafka.None)
	l.want("lower epoch", batch(7, 0, 31, 1, false), -1, kafka.InvalidProducerEpoch)
	l.want("unknown producer at any sequence", batch(8, 3, 77, 1, false), 32, kafka.None)
}

func TestSequencesWrapAfterTwoToTheThirtyFirst(t *testing.T) {
	l := newLog(t)
	l.want("across the end", batch(7, 0, 1<<31-3, 5, false), 0, kafka.None) // up to sequence 1
	l.want("again", batch(7, 0, 1<<31-3, 5, false), 0, kafka.None)
	l.want("gap", batch(7, 0, 3, 1, false), -1, kafka.OutOfOrderSequenceNumber)
	l.want("next", batch(7, 0, 2, 1, false), 5, kafka.None)
	l.want("up to the end", batch(8, 0, 1<<31-2, 2, false), 6, kafka.None)
	l.want("from 0", batch(8, 0, 0, 1, false), 8, kafka.None)
}

func TestExpiryCountsFromTheAppendAndSparesOpenTransactions(t *testing.T) {
	l := newLog(t)
	l.append(batch(1, 0, 0, 1, false))
	l.append(batch(2, 0, 0, 1, true))
	l.now += 50
	l.append(batch(3, 0, 0, 1, false))
	if n := l.s.Expire(1099, 100*time.Millisecond); n != 0 {
		t.Errorf("%d producers forgotten after 99 ms, want 0 though their records are of 1970", n)
	}
	if n := l.s.Expire(1100, 100*time.Millisecond); n != 1 || l.s.Len() != 2 {
		t.Errorf("%d forgotten and %d left after 100 ms, want producer 1 forgotten", n, l.s.Len())
	}
	if n := l.s.Expire(9999, 100*time.Millisecond); n != 1 || !l.s.InTxn(2) {
		t.Errorf("%d forgotten, in transaction: %v, want all but producer 2 forgotten", n, l.s.InTxn(2))
	}
}
