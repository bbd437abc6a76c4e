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

// sampleEvery is how many entries there are to one that is kept in memory. A search reads the entries between two
// samples, in one go.
const sampleEvery = 256

// entries is one index: a prefix that is in the file, and a tail that is not yet. Writers change it under the log's
// mu; a reader copies the struct under mu and may use the copy afterwards: bytes of tail and samples are never
// overwritten, only appended to.
type entries struct {
	width   int
	written int    // entries in the file
	tail    []byte // encoded entries behind these
	crc     uint32 // CRC-32C of all entries
	samples []byte // encoded entries 0, sampleEvery, 2*sampleEvery, ...
}

func (e *entries) count() int { return e.written + len(e.tail)/e.width }

func (e *entries) bytes() int { return e.count() * e.width }

func (e *entries) add(entry []byte) {
	if e.count()%sampleEvery == 0 {
		e.samples = append(e.samples, entry...)
	}
	e.tail = append(e.tail, entry...)
	e.crc = crc32.Update(e.crc, castagnoli, entry)
}

// adopt takes over entries that are in the file already, behind those that are known.
func (e *entries) adopt(raw []byte) {
	for at := 0; at < len(raw); at += e.width {
		if e.written%sampleEvery == 0 {
			e.samples = append(e.samples, raw[at:at+e.width]...)
		}
		e.written++
	}
	e.crc = crc32.Update(e.crc, castagnoli, raw)
}

// last finds the last entry for which ok holds; entries for which it holds come before those for which it does not. It
// reads one block of the file at most, into buf, which has room for sampleEvery entries. nil when ok holds for none; the
// result is a view of buf or of the tail.
func (e *entries) last(f io.ReaderAt, buf []byte, ok func(entry []byte) bool) ([]byte, error) {
	k := search(e.samples, e.width, ok)
	if k == 0 {
		return nil, nil
	}
	// It is in [first, next), and ok holds for first.
	first, next := (k-1)*sampleEvery, min(k*sampleEvery, e.count())
	if next > e.written {
		at := max(first-e.written, 0) * e.width
		tail := e.tail[at : (next-e.written)*e.width]
		if n := search(tail, e.width, ok); n > 0 {
			return tail[(n-1)*e.width : n*e.width], nil
		}
		next = e.written
	}
	block := buf[:(next-first)*e.width]
	if n, err := f.ReadAt(block, int64(first*e.width)); n < len(block) {
		if err == nil {
			err = io.EOF
		}
		return nil, err
	}
	n := search(block, e.width, ok)
	if n == 0 {
		return nil, io.EOF // the file is not what the samples are of
	}
	return block[(n-1)*e.width : n*e.width], nil
}

// search is the number of entries for which ok holds.
func search(block []byte, width int, ok func(entry []byte) bool) int {
	lo, hi := 0, len(block)/width
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if ok(block[mid*width : (mid+1)*width]) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
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
