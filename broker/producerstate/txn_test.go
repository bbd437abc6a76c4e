package producerstate_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/producerstate"
	"github.com/fairlead-io/fairlead/broker/record"
)

func marker(id kafka.ProducerID, epoch kafka.ProducerEpoch, commit bool, coordinator int32) record.Batch {
	return record.EndTxnMarker{ProducerID: id, ProducerEpoch: epoch, Commit: commit, CoordinatorEpoch: coordinator, Timestamp: 6}.Batch()
}

func plain(n int) record.Batch {
	b := record.NewBuilder(record.BuilderOptions{})
	for range n {
		b.Add(5, nil, nil)
	}
	out, _ := b.Build()
	return out
}

// offset  0   1   2      3       4      5      6
// ..      p7  p8  plain  p8 ends p7     p7 ends plain
func TestLastStableOffset(t *testing.T) {
	l := newLog(t)
	stable := func(name string, hw, want kafka.Offset) {
		t.Helper()
		if got := l.s.LastStable(hw); got != want {
			t.Errorf("%s, high watermark %d: last stable offset %d, want %d", name, hw, got, want)
		}
	}
	l.append(batch(7, 0, 0, 1, true))
	l.append(batch(8, 0, 0, 1, true))
	l.append(plain(1))
	stable("both open, nothing replicated", 0, 0)
	stable("both open", 3, 0)
	txn, ok := l.append(marker(8, 0, false, 1))
	if want := (producerstate.CompletedTxn{ProducerID: 8, First: 1, Last: 3, Aborted: true, LastStable: 0}); !ok || txn != want {
		t.Errorf("abort of 8: %+v, %v, want %+v", txn, ok, want)
	}
	stable("7 open", 4, 0)
	l.append(batch(7, 0, 1, 1, true))
	txn, ok = l.append(marker(7, 0, true, 1))
	if want := (producerstate.CompletedTxn{ProducerID: 7, First: 0, Last: 5, LastStable: 6}); !ok || txn != want {
		t.Errorf("commit of 7: %+v, %v, want %+v", txn, ok, want)
	}
	// Rule 8: the marker must be below the high watermark before its transaction counts as decided.
	stable("decided, the marker not replicated", 5, 0)
	stable("decided, the marker replicated", 6, 6)
	l.append(plain(1))
	stable("nothing open", 7, 7)
	if _, ok := l.append(marker(9, 0, false, 1)); ok {
		t.Error("a marker without records here ends nothing")
	}
	stable("a marker without records", 8, 8)
	if _, ok := l.s.FirstUndecided(); ok {
		t.Error("nothing is open")
	}
}

func TestDeletedRecordsAreNotUnstable(t *testing.T) {
	l := newLog(t)
	l.append(batch(7, 0, 0, 5, true))
	l.s.AdvanceStart(3)
	if got := l.s.LastStable(5); got != 3 {
		t.Errorf("last stable offset %d, want the log's start 3", got)
	}
	if first, ok := l.s.FirstUndecided(); !ok || first != 3 || !l.s.InTxn(7) {
		t.Errorf("first undecided %d, %v", first, ok)
	}
	if p, ok := l.s.OldestOpenTxn(); !ok || p.ID != 7 || p.TxnFirst != 0 {
		t.Errorf("oldest transaction %+v, %v", p, ok)
	}
	l.s.AdvanceStart(9)
	if l.s.End() != 9 {
		t.Errorf("end %d, want 9", l.s.End())
	}
}

func TestMarkersAreChecked(t *testing.T) {
	l := newLog(t)
	check := func(name string, b record.Batch, origin producerstate.Origin, want kafka.ErrorCode) {
		t.Helper()
		if _, got := l.s.Check(b, origin); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	check("unknown producer", marker(7, 3, true, 5), producerstate.Coordinator, kafka.None)
	l.append(batch(7, 3, 0, 1, true))
	check("zombie producer", marker(7, 2, true, 5), producerstate.Coordinator, kafka.InvalidProducerEpoch)
	check("same epoch", marker(7, 3, true, 5), producerstate.Coordinator, kafka.None)
	check("raised epoch, transactions of version 2", marker(7, 4, true, 5), producerstate.Coordinator, kafka.None)
	check("plain batch in a transaction", batch(7, 3, 1, 1, false), producerstate.Client, kafka.InvalidTxnState)
	l.append(marker(7, 4, true, 5))
	check("zombie coordinator", marker(7, 4, false, 4), producerstate.Coordinator, kafka.TransactionCoordinatorFenced)
	check("the same, copied from the leader", marker(7, 4, false, 4), producerstate.Replication, kafka.None)
	check("old epoch after the marker", batch(7, 3, 1, 1, true), producerstate.Client, kafka.InvalidProducerEpoch)
	check("raised epoch, not from 0", batch(7, 4, 1, 1, true), producerstate.Client, kafka.OutOfOrderSequenceNumber)
	check("raised epoch", batch(7, 4, 0, 1, true), producerstate.Client, kafka.None)
	check("coordinators have no sequences", batch(7, 4, record.NoSequence, 1, false), producerstate.Coordinator, kafka.None)

	b := record.NewBuilder(record.BuilderOptions{Control: true, Transactional: true, Idempotent: true, ProducerID: 7, ProducerEpoch: 4, BaseSequence: -1})
	b.Add(1, []byte{0}, nil)
	bad, _ := b.Build()
	check("a marker that cannot be read, even copied from the leader", bad, producerstate.Replication, kafka.CorruptMessage)
	if l.s.Len() != 1 {
		t.Errorf("checks made %d producers, want 1", l.s.Len())
	}
}

// With version 1 a transaction's marker has the producer's own epoch, and sequences go on behind it.
func TestSequencesGoOnAfterAMarkerOfTheSameEpoch(t *testing.T) {
	l := newLog(t)
	l.want("first transaction", batch(7, 1, 0, 2, true), 0, kafka.None)
	l.append(marker(7, 1, true, 1))
	l.want("sent again after the marker", batch(7, 1, 0, 2, true), 0, kafka.None)
	l.want("second transaction", batch(7, 1, 2, 1, true), 3, kafka.None)
	if first, ok := l.s.FirstUndecided(); !ok || first != 3 {
		t.Errorf("first undecided %d, %v, want 3", first, ok)
	}
}

func TestTooManyProducers(t *testing.T) {
	l := newLog(t)
	l.s = producerstate.New(0, producerstate.Options{MaxProducers: 3})
	for id := range kafka.ProducerID(3) {
		l.want("new", batch(id, 0, 0, 1, id == 1), kafka.Offset(id), kafka.None)
	}
	l.want("0 goes on", batch(0, 0, 1, 1, false), 3, kafka.None)
	l.want("a fourth", batch(3, 0, 0, 1, true), 4, kafka.None)
	if _, ok := l.s.Producer(2); ok || l.s.Len() != 3 {
		t.Errorf("%d producers, want 2 forgotten: 0 was heard of later, and 1 is in a transaction", l.s.Len())
	}
	l.want("a fifth", batch(4, 0, 0, 1, true), 5, kafka.None)
	l.want("a sixth, while all have open transactions", batch(5, 0, 0, 1, true), -1, kafka.ThrottlingQuotaExceeded)
	l.want("a known one", batch(4, 0, 1, 1, true), 6, kafka.None)
	l.append(batch(6, 0, 0, 1, false)) // a follower takes what its leader took
	if l.s.Len() != 4 {
		t.Errorf("%d producers, want 4", l.s.Len())
	}
	l.append(marker(1, 0, true, 0))
	l.want("a sixth again", batch(5, 0, 0, 1, false), 9, kafka.None)
	if _, ok := l.s.Producer(1); ok || l.s.Len() != 3 {
		t.Errorf("%d producers, want 6 and 1 forgotten, which are idle", l.s.Len())
	}
}

func TestWhatIsLogged(t *testing.T) {
	l := newLog(t)
	l.append(batch(9, 2, 5, 3, true))
	l.append(batch(4, 0, 0, 1, false))
	want := []producerstate.Producer{
		{ID: 4, LastOffset: 3, LastTimestamp: 5, Appended: 1000, CoordinatorEpoch: -1, TxnFirst: -1},
		{ID: 9, Epoch: 2, LastSequence: 7, LastOffset: 2, LastTimestamp: 5, Appended: 1000, CoordinatorEpoch: -1, TxnFirst: 0},
	}
	got := l.s.Producers()
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("producers %+v, want %+v", got, want)
	}
	l.s.Reset(50)
	if l.s.Len() != 0 || l.s.End() != 50 || l.s.LastStable(50) != 50 {
		t.Errorf("after a reset: %d producers, end %d", l.s.Len(), l.s.End())
	}
}
