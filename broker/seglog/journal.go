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
// checksum, appended in the order of events:
//
//	 0 crc  uint32  CRC-32C of bytes 4 to 127
//	 4 kind uint8   1 seal, 2 cut, 3 start, 4 reset, 5 reset done
//	 5      zeros
//	 8 fields of the kind, big-endian, then zeros to byte 128
//
//	seal:  base next logBytes largest largestAt first appended int64, indexBytes indexCRC timeBytes timeCRC txnBytes txnCRC
//	       sinceEntry uint32: see type seal
//	cut:   offset int64. Seals before it with next > offset are void, and nothing from offset on counts as flushed until
//	       a later seal says so, whatever the recovery point checkpoint (which may be older) says
//	start: offset int64: the log start offset from here on
//	reset: offset int64. All segments are being deleted and the log begins anew, empty, at offset
//
// A record that is torn can only be at the end, where it is ignored. One in the middle means that the journal is
// damaged: then no seal of it is believed. The journal is written anew, with what still counts, when it is opened and
// has grown. When it is missing, everything but the log start offset is found again in the log.
const (
	journalName    = "fairlead.journal"
	journalRecord  = 128
	journalMaxSize = 64 << 20 // more is damage

	// journalSlack is how many records that no longer count are kept before the journal is written anew.
	journalSlack = 256
)

const (
	kindSeal byte = iota + 1
	kindCut
	kindStart
	kindReset
	kindResetDone
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
	i64 := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[8+8*i:])) }
	u32 := func(i int) uint32 { return binary.BigEndian.Uint32(b[64+4*i:]) }
	return seal{
		base: kafka.Offset(i64(0)), next: kafka.Offset(i64(1)), logBytes: i64(2), largest: kafka.Timestamp(i64(3)),
		largestAt: kafka.Offset(i64(4)), first: kafka.Timestamp(i64(5)), appended: kafka.Timestamp(i64(6)),
		offsets: sum{u32(0), u32(1)}, times: sum{u32(2), u32(3)}, txns: sum{u32(4), u32(5)}, sinceEntry: u32(6),
	}
}

func appendMark(dst []byte, kind byte, offset kafka.Offset) []byte {
	return appendJournal(dst, kind, func(b []byte) []byte { return binary.BigEndian.AppendUint64(b, uint64(offset)) })
}

func appendJournal(dst []byte, kind byte, fields func([]byte) []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, kind, 0, 0, 0)
	dst = fields(dst)
	dst = append(dst, make([]byte, start+journalRecord-len(dst))...)
	binary.BigEndian.PutUint32(dst[start:], crc32.Checksum(dst[start+4:], castagnoli))
	return dst
}

// journalState is what a journal's records amount to.
type journalState struct {
	seals   map[kafka.Offset]seal // by base
	start   kafka.Offset          // NoOffset: never set
	cut     kafka.Offset          // nothing from here on counts as flushed; NoOffset: no cut
	reset   kafka.Offset          // a reset that was not finished; NoOffset: none
	records int
	size    int64 // bytes up to the end of the last good record; what follows is torn
	ours    bool  // there is a journal: the log was written by us
	damaged bool  // a record other than the last cannot be read: no seal counts, and nothing as flushed
}

// parseJournal never fails: what cannot be read is not believed.
func parseJournal(data []byte) journalState {
	s := journalState{seals: map[kafka.Offset]seal{}, start: kafka.NoOffset, cut: kafka.NoOffset, reset: kafka.NoOffset}
	bad := false
	for at := 0; at+journalRecord <= len(data); at += journalRecord {
		b := data[at : at+journalRecord]
		if binary.BigEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli) {
			bad = true
			continue
		}
		s.damaged = s.damaged || bad
		s.records++
		s.size = int64(at + journalRecord)
		s.apply(b)
	}
	if s.damaged {
		clear(s.seals)
		s.cut = 0
	}
	return s
}

func (s *journalState) apply(b []byte) {
	offset := kafka.Offset(binary.BigEndian.Uint64(b[8:]))
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
	case kindStart:
		s.start = offset
	case kindReset:
		clear(s.seals)
		s.start, s.cut, s.reset = offset, offset, offset
	case kindResetDone:
		s.reset = kafka.NoOffset
	}
}

// journal appends to the file. Used by the log's writer alone.
type journal struct {
	fs      vfs.FS
	name    string
	size    int64 // bytes that count
	created bool  // its name is durable
}

// openJournal reads the journal of a folder; a missing one is empty.
func openJournal(fsys vfs.FS, dir string) (*journal, journalState, error) {
	j := &journal{fs: fsys, name: path.Join(dir, journalName)}
	data, err := vfs.ReadFile(fsys, j.name, journalMaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return j, parseJournal(nil), nil
	case err != nil:
		return nil, journalState{}, fmt.Errorf("open journal: %w", err)
	}
	s := parseJournal(data)
	s.ours = true
	j.size = s.size // its name may not be durable: a process may have died before it was
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
	var data []byte
	if s.cut != kafka.NoOffset { // first: it voids what comes before
		data = appendMark(data, kindCut, s.cut)
	}
	if s.start != kafka.NoOffset {
		data = appendMark(data, kindStart, s.start)
	}
	for _, v := range seals {
		data = appendSeal(data, v)
	}
	if err := vfs.WriteFileAtomic(j.fs, j.name, data); err != nil {
		return err
	}
	j.size, j.created = int64(len(data)), true
	return nil
}

// append writes records and makes them durable. An error of the fsync is a *vfs.SyncError.
func (j *journal) append(records []byte) error {
	f, err := j.fs.OpenFile(j.name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("append to journal: %w", err)
	}
	defer f.Close()
	if _, err := f.WriteAt(records, j.size); err != nil {
		f.Truncate(j.size) // as far as it goes: a torn end is ignored
		return fmt.Errorf("append to journal: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("append to journal: %w", &vfs.SyncError{Err: err})
	}
	if !j.created {
		if err := j.fs.SyncDir(path.Dir(j.name)); err != nil {
			return fmt.Errorf("append to journal: %w", &vfs.SyncError{Err: err})
		}
		j.created = true
	}
	j.size += int64(len(records))
	return nil
}
