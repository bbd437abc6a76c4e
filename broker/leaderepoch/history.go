package leaderepoch

import (
	"slices"
	"sort"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Entry says that Epoch wrote the records from Start up to the next entry's Start.
type Entry struct {
	Epoch kafka.LeaderEpoch
	Start kafka.Offset
}

// History is the list of epochs of one log. The zero value is the history of a log without records and ready for use.
// It is not safe for concurrent use: the owner of the log guards it.
type History struct {
	entries []Entry // invariants 1 and 2 of the package
}

// Assign notes that the records from start on are of this epoch, and tells whether that was news. A leader calls it
// when it is elected, with the end of its log; everybody calls it for every batch appended or recovered.
//
// Entries that contradict the new one are dropped: those of an epoch as high or higher, and those that start as far or
// further. An epoch that wrote nothing vanishes in this way when the next one starts at the same offset. A repeated
// epoch keeps its first start. Negative epochs (batches of before there were epochs) and offsets are ignored.
func (h *History) Assign(epoch kafka.LeaderEpoch, start kafka.Offset) (changed bool) {
	if epoch < 0 || start < 0 {
		return false
	}
	if n := len(h.entries); n > 0 && h.entries[n-1].Epoch == epoch && start >= h.entries[n-1].Start {
		return false
	}
	n := len(h.entries)
	for n > 0 && (h.entries[n-1].Epoch >= epoch || h.entries[n-1].Start >= start) {
		n--
	}
	h.entries = append(h.entries[:n], Entry{Epoch: epoch, Start: start})
	return true
}

// EndOffsetFor answers where the records of the epoch asked for end, given the end of the log: the largest known epoch
// not above it, and the first offset that this epoch did not write. A follower keeps nothing of its own beyond.
//
//   - The latest epoch ends at logEnd.
//   - An epoch below all known ones gives itself and the start of the log's first epoch: what it wrote is deleted, and
//     a follower goes on from there.
//   - ok is false for an epoch above all known ones, for [kafka.NoLeaderEpoch], and when the history is empty: the
//     answer is not known, and the end of the log would be a guess (KAFKA-6857).
func (h *History) EndOffsetFor(epoch kafka.LeaderEpoch, logEnd kafka.Offset) (found kafka.LeaderEpoch, end kafka.Offset, ok bool) {
	n := len(h.entries)
	if epoch < 0 || n == 0 || epoch > h.entries[n-1].Epoch {
		return kafka.NoLeaderEpoch, kafka.NoOffset, false
	}
	higher := sort.Search(n, func(i int) bool { return h.entries[i].Epoch > epoch })
	switch {
	case higher == 0:
		return epoch, h.entries[0].Start, true
	case higher == n:
		return epoch, logEnd, true // the latest one itself, as epoch is not above it
	default:
		return h.entries[higher-1].Epoch, h.entries[higher].Start, true
	}
}

// EpochOf is the epoch that wrote the record at this offset, if it is not before the first entry. Offsets beyond the end
// of the log, which the history does not know, belong to the latest epoch.
func (h *History) EpochOf(offset kafka.Offset) (kafka.LeaderEpoch, bool) {
	i := sort.Search(len(h.entries), func(i int) bool { return h.entries[i].Start > offset })
	if i == 0 {
		return kafka.NoLeaderEpoch, false
	}
	return h.entries[i-1].Epoch, true
}

// TruncateFromEnd follows a truncation of the log to [.., end): epochs that start at end or later have no records left.
// It must be called on every truncation, also when the log itself had nothing to cut (KAFKA-10706): a leader notes
// its epoch at the end of its log before it writes a record of it.
func (h *History) TruncateFromEnd(end kafka.Offset) (changed bool) {
	n := len(h.entries)
	for n > 0 && h.entries[n-1].Start >= end {
		n--
	}
	changed = n < len(h.entries)
	h.entries = h.entries[:n]
	return changed
}

// TruncateFromStart follows a deletion of the log's records below start. The epoch that start belongs to stays, with
// start as its first offset, so that its end is still known.
func (h *History) TruncateFromStart(start kafka.Offset) (changed bool) {
	i := sort.Search(len(h.entries), func(i int) bool { return h.entries[i].Start > start })
	if i == 0 {
		return false // nothing known starts so early
	}
	if i == 1 && h.entries[0].Start == start {
		return false
	}
	h.entries[i-1].Start = start
	h.entries = slices.Delete(h.entries, 0, i-1)
	return true
}

// Clear forgets everything: the log was emptied.
func (h *History) Clear() { h.entries = nil }

// Latest is the last entry, ok false when there is none.
func (h *History) Latest() (e Entry, ok bool) {
	if n := len(h.entries); n > 0 {
		return h.entries[n-1], true
	}
	return Entry{Epoch: kafka.NoLeaderEpoch, Start: kafka.NoOffset}, false
}

// Earliest is the first entry, ok false when there is none.
func (h *History) Earliest() (e Entry, ok bool) {
	if len(h.entries) > 0 {
		return h.entries[0], true
	}
	return Entry{Epoch: kafka.NoLeaderEpoch, Start: kafka.NoOffset}, false
}

// Len is the number of entries.
func (h *History) Len() int { return len(h.entries) }

// Entries is a copy of the list.
func (h *History) Entries() []Entry { return slices.Clone(h.entries) }

// Clone is an independent copy.
func (h *History) Clone() History { return History{entries: slices.Clone(h.entries)} }
