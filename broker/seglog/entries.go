package seglog

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sizes of entries in bytes, as in Kafka's files.
const (
	offsetEntryBytes = 8  // int32 last offset of a batch - base, int32 position of the batch
	timeEntryBytes   = 12 // int64 largest timestamp so far, int32 last offset of its batch - base
	txnEntryBytes    = 34 // int16 version, int64 producer, first, last (marker's), last stable offset
)

// tailEntries is how many entries collect in memory before they are written to the file in one go. An index is
// believed only as far as a seal covers it, so entries lost in a crash cost nothing.
const tailEntries = 128

// entries is one index: a prefix that is in the file, and a tail that is not yet. Writers change it under the log's
// mu; a reader copies the struct under mu and may use the copy afterwards: bytes of a tail are never overwritten.
type entries struct {
	width   int
	written int    // entries in the file
	tail    []byte // encoded entries behind these
	crc     uint32 // CRC-32C of all entries
}

func (e *entries) count() int { return e.written + len(e.tail)/e.width }

func (e *entries) bytes() int { return e.count() * e.width }

func (e *entries) add(entry []byte) {
	e.tail = append(e.tail, entry...)
	e.crc = crc32.Update(e.crc, castagnoli, entry)
}

// at reads the i-th entry into buf, which has room for one.
func (e *entries) at(f io.ReaderAt, i int, buf []byte) ([]byte, error) {
	if i >= e.written {
		i -= e.written
		return e.tail[i*e.width : (i+1)*e.width], nil
	}
	buf = buf[:e.width]
	if _, err := f.ReadAt(buf, int64(i*e.width)); err != nil {
		return nil, err
	}
	return buf, nil
}

// searchBlock is how many entries are read at once at the end of a search.
const searchBlock = 256

// last finds the last entry for which ok holds; entries for which it holds come before those for which it does not.
// It reads O(log n) entries. The result is a copy; nil when ok holds for none.
func (e *entries) last(f io.ReaderAt, ok func(entry []byte) bool) ([]byte, error) {
	// Entries [0, lo) hold, entries [hi, n) do not.
	lo, hi := 0, e.count()
	var buf [txnEntryBytes]byte
	if e.written < hi && len(e.tail) > 0 && ok(e.tail[:e.width]) {
		lo = e.written + 1
	} else {
		hi = min(hi, e.written)
	}
	for hi-lo > 0 && (lo >= e.written || hi-lo > searchBlock) {
		mid := int(uint(lo+hi) / 2)
		entry, err := e.at(f, mid, buf[:])
		if err != nil {
			return nil, err
		}
		if ok(entry) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if hi > lo { // a block of the file is left, and the entry before it
		block := make([]byte, (hi-lo)*e.width)
		if _, err := f.ReadAt(block, int64(lo*e.width)); err != nil {
			return nil, err
		}
		n := 0
		for n < hi-lo && ok(block[n*e.width:(n+1)*e.width]) {
			n++
		}
		if n > 0 {
			return block[(n-1)*e.width : n*e.width], nil
		}
	}
	if lo == 0 {
		return nil, nil
	}
	entry, err := e.at(f, lo-1, buf[:])
	if err != nil {
		return nil, err
	}
	return append([]byte(nil), entry...), nil
}

func appendOffsetEntry(dst []byte, relative int32, position int64) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(relative))
	return binary.BigEndian.AppendUint32(dst, uint32(position))
}

func offsetEntry(b []byte) (relative int32, position int64) {
	return int32(binary.BigEndian.Uint32(b)), int64(binary.BigEndian.Uint32(b[4:]))
}

func appendTimeEntry(dst []byte, ts kafka.Timestamp, relative int32) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(ts))
	return binary.BigEndian.AppendUint32(dst, uint32(relative))
}

func timeEntry(b []byte) (ts kafka.Timestamp, relative int32) {
	return kafka.Timestamp(binary.BigEndian.Uint64(b)), int32(binary.BigEndian.Uint32(b[8:]))
}

func appendTxnEntry(dst []byte, t AbortedTransaction) []byte {
	dst = binary.BigEndian.AppendUint16(dst, 0)
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.ProducerID))
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.First))
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.Last))
	return binary.BigEndian.AppendUint64(dst, uint64(t.LastStable))
}

func txnEntry(b []byte) AbortedTransaction {
	i64 := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
	return AbortedTransaction{ProducerID: kafka.ProducerID(i64(2)), First: kafka.Offset(i64(10)), Last: kafka.Offset(i64(18)), LastStable: kafka.Offset(i64(26))}
}
