package seglog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// The journal is what a log knows of itself beyond Kafka's files. It is a file of records of one size, each with a
// checksum, appended in groups that count as a whole or not at all:
//
//	 0 crc   uint32  CRC-32C of bytes 4 to 127
//	 4 kind  uint8   see kind
//	 5 last  uint8   1: the last record of its group
//	 6 index uint16  place in the group, from 0
//	 8 group uint32  rises from group to group
//	12       zeros
//	16 fields of the kind, big-endian, then zeros to byte 128
//
// Only the last group can be torn, and is then ignored. Anything else that cannot be read means that the journal is
// damaged: then no seal of it is believed, and nothing counts as flushed. It is written anew, with what still counts,
// when it is damaged or has grown. When it is missing, all but the log start offset is found again in the log.
const (
	journalName    = "fairlead.journal"
	journalRecord  = 128
	journalFields  = 16
	journalMaxSize = 512 << 20 // more is damage: it is written anew when it has two records for each segment

	// journalSlack is how many records that no longer count are kept before the journal is written anew.
	journalSlack = 256
)

// The kinds of records, with their fields.
const (
	_             byte = iota
	kindSeal           // type seal
	kindCut            // offset: seals before it with next > offset are void, nothing from there on counts as flushed until a later seal
	kindStart          // offset: the log start offset from here on
	kindReset          // offset: all segments are being deleted, the log begins anew, empty, at offset
	kindResetDone      // offset
	kindSwap           // base, next: the segments in [base, next), which were durable, are being replaced by a cleaned one
	kindSwapDone       // base
	kindCleaned        // offset: compaction has looked at all keys below
	kindSettled        // offset, without meaning: the folder and partition.metadata are durable; see begin.go
)

// seal says what a segment and its indexes were at a moment when they, and the leader epochs and the producers up to
// next, were durable. The segment may have grown since.
type seal struct {
	base, next kafka.Offset    // the sealed part covers [base, next)
	logBytes   int64           // its size
	largest    kafka.Timestamp // largest timestamp in it, -1: none
	largestAt  kafka.Offset    // last offset of the batch that holds it
	first      kafka.Timestamp // max timestamp of the first batch, -1: none
	appended   kafka.Timestamp // broker's clock at the last append
	offsets    sum             // of the .index
	times      sum             // of the .timeindex
	txns       sum             // of the .txnindex
	sinceEntry uint32          // bytes of log since the last index entry
}

// sum is the size and CRC-32C of an index file.
type sum struct{ bytes, crc uint32 }

func appendSeal(dst []byte, s seal) []byte {
	return appendJournal(dst, kindSeal, func(b []byte) []byte {
		for _, v := range []int64{int64(s.base), int64(s.next), s.logBytes, int64(s.largest), int64(s.largestAt), int64(s.first), int64(s.appended)} {
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		}
		for _, v := range []uint32{s.offsets.bytes, s.offsets.crc, s.times.bytes, s.times.crc, s.txns.bytes, s.txns.crc, s.sinceEntry} {
			b = binary.BigEndian.AppendUint32(b, v)
		}
		return b
	})
}

func parseSeal(b []byte) seal {
	i64 := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[journalFields+8*i:])) }
	u32 := func(i int) uint32 { return binary.BigEndian.Uint32(b[journalFields+56+4*i:]) }
	return seal{
		base: kafka.Offset(i64(0)), next: kafka.Offset(i64(1)), logBytes: i64(2), largest: kafka.Timestamp(i64(3)),
		largestAt: kafka.Offset(i64(4)), first: kafka.Timestamp(i64(5)), appended: kafka.Timestamp(i64(6)),
		offsets: sum{u32(0), u32(1)}, times: sum{u32(2), u32(3)}, txns: sum{u32(4), u32(5)}, sinceEntry: u32(6),
	}
}

func appendMark(dst []byte, kind byte, offset kafka.Offset) []byte {
	return appendJournal(dst, kind, func(b []byte) []byte { return binary.BigEndian.AppendUint64(b, uint64(offset)) })
}

func appendSwap(dst []byte, base, next kafka.Offset) []byte {
	return appendJournal(dst, kindSwap, func(b []byte) []byte {
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, uint64(base)), uint64(next))
	})
}

// appendJournal appends a record that is complete but for what stamp fills in.
func appendJournal(dst []byte, kind byte, fields func([]byte) []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, journalFields)...)
	dst[start+4] = kind
	dst = fields(dst)
	return append(dst, make([]byte, start+journalRecord-len(dst))...)
}

// maxGroup is the number of records that a group can have. Seals do not need one group, and are given smaller ones.
const (
	maxGroup  = 1 << 16
	sealGroup = 1 << 10
)

// stamp makes one group of the records.
func stamp(records []byte, group uint32) {
	for at := 0; at < len(records); at += journalRecord {
		b := records[at : at+journalRecord]
		if at+journalRecord == len(records) {
			b[5] = 1
		}
		binary.BigEndian.PutUint16(b[6:], uint16(at/journalRecord))
		binary.BigEndian.PutUint32(b[8:], group)
		binary.BigEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	}
}

// journalState is what a journal's records amount to.
type journalState struct {
	seals   map[kafka.Offset]seal // by base
	start   kafka.Offset          // NoOffset: never set
	cut     kafka.Offset          // nothing from here on counts as flushed; NoOffset: no cut
	reset   kafka.Offset          // a reset that was not finished; NoOffset: none
	cleaned kafka.Offset          // compaction has looked at everything below
	swap    kafka.Offset          // base of a swap that was not finished; NoOffset: none
	swapEnd kafka.Offset          // its next
	durable kafka.Offset          // a swap has proved that everything below is durable, and gaps are compaction's
	records int
	size    int64  // bytes up to the end of the last whole group; what follows is torn
	group   uint32 // largest number of a group, whole or torn
	ours    bool   // there is a journal: the log was written by us
	damaged bool   // something before the last group cannot be read: no seal counts, and nothing as flushed
}

// parseJournal never fails: what cannot be read is not believed.
func parseJournal(data []byte) journalState {
	s := journalState{seals: map[kafka.Offset]seal{}, start: kafka.NoOffset, cut: kafka.NoOffset, reset: kafka.NoOffset, swap: kafka.NoOffset}
	var pending [][]byte // good records of the group being read
	broken := false      // something before or in that group cannot be read
	for at := 0; at+journalRecord <= len(data); at += journalRecord {
		b := data[at : at+journalRecord]
		group := binary.BigEndian.Uint32(b[8:])
		if binary.BigEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli) || group < s.group {
			broken = true // torn, damaged, or left of a torn group of before
			continue
		}
		index := int(binary.BigEndian.Uint16(b[6:]))
		if group > s.group {
			// A group that is not whole is the last one, unless there is damage. When its first records are torn the
			// index tells.
			s.damaged = s.damaged || len(pending) > 0 || broken && index == 0
			s.group, pending, broken = group, nil, false
		}
		if index != len(pending) {
			broken = true
			continue
		}
		pending = append(pending, b)
		if b[5] == 1 && !broken {
			for _, r := range pending {
				s.apply(r)
			}
			s.records += len(pending)
			s.size = int64(at + journalRecord)
			pending = nil
		}
	}
	if s.damaged {
		clear(s.seals)
		s.cut, s.durable, s.cleaned = 0, 0, 0
	}
	return s
}

func (s *journalState) apply(b []byte) {
	offset := kafka.Offset(binary.BigEndian.Uint64(b[journalFields:]))
	switch b[4] {
	case kindSeal:
		v := parseSeal(b)
		s.seals[v.base] = v
		if s.cut != kafka.NoOffset {
			s.cut = max(s.cut, v.next)
		}
	case kindCut:
		for base, v := range s.seals {
			if v.next > offset {
				delete(s.seals, base)
			}
		}
		if s.cut == kafka.NoOffset || offset < s.cut {
			s.cut = offset
		}
		s.cleaned, s.durable = min(s.cleaned, offset), min(s.durable, offset)
	case kindStart:
		s.start = offset
	case kindReset:
		clear(s.seals)
		s.start, s.cut, s.reset, s.cleaned, s.durable = offset, offset, offset, 0, 0
	case kindResetDone:
		s.reset = kafka.NoOffset
	case kindSwap:
		s.swap, s.swapEnd = offset, kafka.Offset(binary.BigEndian.Uint64(b[journalFields+8:]))
		s.durable = max(s.durable, s.swapEnd)
		for base := range s.seals {
			if base >= s.swap && base < s.swapEnd {
				delete(s.seals, base)
			}
		}
	case kindSwapDone:
		s.swap = kafka.NoOffset
	case kindCleaned:
		s.cleaned = offset
	}
}

// journal appends to the file. Used by the log's writer alone.
type journal struct {
	fs      vfs.FS
	name    string
	size    int64  // bytes that count
	group   uint32 // of the last append
	settled bool   // it has records, and had them when it was opened or settle was called
	// unproven: what was read may not be on the disk, and is written again with the next record. See again.go.
	unproven bool
	settle   func() error // called before the first record: nothing durable is said of a log that may not be there after a crash
}

// openJournal reads the journal of a folder; a missing one is empty.
func openJournal(fsys vfs.FS, dir string) (*journal, journalState, error) {
	j := &journal{fs: fsys, name: path.Join(dir, journalName)}
	data, err := vfs.ReadFile(fsys, j.name, journalMaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return j, parseJournal(nil), nil
	case errors.Is(err, vfs.ErrTooLong):
		s := parseJournal(nil)
		s.ours, s.damaged, s.cut = true, true, 0
		return j, s, nil
	case err != nil:
		return nil, journalState{}, fmt.Errorf("open journal: %w", err)
	}
	s := parseJournal(data)
	s.ours = true
	j.size, j.group, j.settled = s.size, s.group, s.records > 0
	return j, s, nil
}

// create makes an empty journal, the sign that a log is ours. Its name becomes durable with those made after it.
func (j *journal) create() error {
	f, err := j.fs.OpenFile(j.name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("create journal: %w", err)
	}
	return f.Close()
}

// rewrite replaces the journal by what still counts.
func (j *journal) rewrite(s journalState, seals []seal) error {
	if !j.settled {
		if err := j.settle(); err != nil {
			return err
		}
	}
	data := appendMark(nil, kindSettled, 0)
	if s.cut != kafka.NoOffset { // before the seals: it voids what comes before
		data = appendMark(data, kindCut, s.cut)
	}
	if s.start != kafka.NoOffset {
		data = appendMark(data, kindStart, s.start)
	}
	if s.durable > 0 {
		data = appendMark(appendSwap(data, s.durable, s.durable), kindSwapDone, s.durable)
	}
	if s.cleaned > 0 {
		data = appendMark(data, kindCleaned, s.cleaned)
	}
	for _, v := range seals {
		data = appendSeal(data, v)
	}
	for at := 0; at < len(data); at += maxGroup * journalRecord {
		j.group++
		stamp(data[at:min(at+maxGroup*journalRecord, len(data))], j.group)
	}
	if err := vfs.WriteFileAtomic(j.fs, j.name, data); err != nil {
		return err
	}
	j.size, j.settled, j.unproven = int64(len(data)), true, false
	return nil
}

// append writes records as one group, which it stamps, and makes them durable. The first group also tells that the log's folder
// is durable, and may be nothing else. An error of an fsync is a *vfs.SyncError.
func (j *journal) append(records []byte) error {
	if !j.settled {
		if err := j.settle(); err != nil {
			return fmt.Errorf("append to journal: %w", err)
		}
		records = append(appendMark(nil, kindSettled, 0), records...)
	}
	f, err := j.fs.OpenFile(j.name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("append to journal: %w", err)
	}
	defer f.Close()
	if j.unproven {
		if err := copyOver(f, 0, j.size); err != nil {
			return fmt.Errorf("append to journal: %w", err)
		}
	}
	j.group++
	stamp(records, j.group)
	if _, err := f.WriteAt(records, j.size); err != nil {
		_ = f.Truncate(j.size) // as far as it goes: a torn end is ignored
		return fmt.Errorf("append to journal: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("append to journal: %w", &vfs.SyncError{Err: err})
	}
	j.size, j.settled, j.unproven = j.size+int64(len(records)), true, false
	return nil
}

// prove makes durable what was read, before anything is built on it that cannot be undone.
func (j *journal) prove() error {
	if !j.unproven || j.size == 0 {
		return nil
	}
	f, err := j.fs.OpenFile(j.name, os.O_RDWR)
	if err != nil {
		return fmt.Errorf("prove journal: %w", err)
	}
	defer f.Close()
	if err := copyOver(f, 0, j.size); err != nil {
		return fmt.Errorf("prove journal: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("prove journal: %w", &vfs.SyncError{Err: err})
	}
	j.unproven = false
	return nil
}
