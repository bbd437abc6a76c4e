package producerstate

import (
	"cmp"
	"slices"
	"sort"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// openTxn is a transaction without a marker.
type openTxn struct {
	first    kafka.Offset
	producer kafka.ProducerID
}

// decidedTxn is a transaction whose marker is in the log and not yet below the high watermark last told.
type decidedTxn struct {
	first, marker kafka.Offset
}

// CompletedTxn is a transaction of which this partition has records and now the marker.
type CompletedTxn struct {
	ProducerID kafka.ProducerID
	First      kafka.Offset // of its first record here
	Last       kafka.Offset // the marker's
	Aborted    bool
	// LastStable is the first offset of the oldest transaction then still open, or the offset after the marker: what
	// the transaction index stores beside an aborted transaction.
	LastStable kafka.Offset
}

func (s *State) complete(m record.EndTxnMarker, first, marker kafka.Offset) CompletedTxn {
	if i, ok := slices.BinarySearchFunc(s.open, first, func(t openTxn, o kafka.Offset) int { return cmp.Compare(t.first, o) }); ok {
		s.open = slices.Delete(s.open, i, i+1)
	}
	if len(s.open) == 0 {
		s.open = nil
	}
	// Both ends must rise: one that starts later but is stable sooner never decides what is unstable.
	n := len(s.decided)
	for n > 0 && s.decided[n-1].first > first {
		n--
	}
	s.decided = append(s.decided[:n], decidedTxn{first: first, marker: marker})
	stable := marker + 1
	if len(s.open) > 0 {
		stable = s.open[0].first
	}
	return CompletedTxn{ProducerID: m.ProducerID, First: first, Last: marker, Aborted: !m.Commit, LastStable: stable}
}

// HighWatermark tells that the markers below hw are replicated: their transactions are stable.
func (s *State) HighWatermark(hw kafka.Offset) {
	n := sort.Search(len(s.decided), func(i int) bool { return s.decided[i].marker >= hw })
	if n == 0 {
		return
	}
	s.decided = slices.Delete(s.decided, 0, n)
	if len(s.decided) == 0 {
		s.decided = nil
	}
}

// AdvanceStart follows a deletion of the log's records below start. Producers stay known: their records may be gone
// long before they are.
func (s *State) AdvanceStart(start kafka.Offset) {
	s.start = max(s.start, start)
	s.end = max(s.end, start)
	s.HighWatermark(start)
}

// FirstUndecided is the first offset of the oldest open transaction.
func (s *State) FirstUndecided() (kafka.Offset, bool) {
	if len(s.open) == 0 {
		return kafka.NoOffset, false
	}
	return max(s.open[0].first, s.start), true
}

// FirstUnstable is the first offset of the oldest transaction that is open, or whose marker is not below the high
// watermark last told.
func (s *State) FirstUnstable() (kafka.Offset, bool) {
	first, ok := s.FirstUndecided()
	if len(s.decided) > 0 {
		if f := max(s.decided[0].first, s.start); !ok || f < first {
			first, ok = f, true
		}
	}
	return first, ok
}

// LastStable is the end of what readers of committed records may see: the high watermark or the first unstable offset,
// whichever comes first.
func (s *State) LastStable(hw kafka.Offset) kafka.Offset {
	s.HighWatermark(hw)
	if first, ok := s.FirstUnstable(); ok && first < hw {
		return first
	}
	return hw
}

// OldestOpenTxn is the oldest open transaction's producer, to find transactions that hang.
func (s *State) OldestOpenTxn() (Producer, bool) {
	if len(s.open) == 0 {
		return Producer{}, false
	}
	return s.Producer(s.open[0].producer)
}
