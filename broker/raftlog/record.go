package raftlog

import (
	"encoding/binary"
	"hash/crc32"
)

// A wal file is a sequence of records:
//
//	0        4        8         12    13
//	+--------+--------+---------+-----+---------------------+
//	| length | crc32c | durable | type| body (length bytes) |     integers little-endian
//	+--------+--------+---------+-----+---------------------+
//
// durable is the number of leading bytes of the file that were synced when the record was written. The checksum covers the number of
// the file, the position of the record, and everything behind the checksum, so a record is valid in its own place only.
type recordType byte

const (
	typeHeader    recordType = 1 // identity, hard state and snapshot in force when the file began
	typeEntry     recordType = 2
	typeHardState recordType = 3
	typeSnapshot  recordType = 4 // a snapshot counts from here on
	typeCluster   recordType = 5 // the cluster id was learned
	typeSeal      recordType = 6 // nothing but its durable field

	lastRecordType = typeSeal
)

const (
	frameBytes = 13

	// maxRecordBytes bounds the body of a record when reading; quorum's limit of one entry is far below.
	maxRecordBytes = 64 << 20
)

type record struct {
	kind    recordType
	durable int64
	body    []byte // a view on the file's bytes
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(number uint64, pos int64, tail []byte) uint32 {
	var place [16]byte
	binary.LittleEndian.PutUint64(place[:], number)
	binary.LittleEndian.PutUint64(place[8:], uint64(pos))
	return crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, tail)
}

// appendRecord encodes a record that will stand at pos of file number.
func appendRecord(b []byte, number uint64, pos, durable int64, kind recordType, body func([]byte) []byte) []byte {
	start := len(b)
	b = append(b, make([]byte, frameBytes)...)
	binary.LittleEndian.PutUint32(b[start+8:], uint32(durable))
	b[start+12] = byte(kind)
	if body != nil {
		b = body(b)
	}
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-frameBytes))
	binary.LittleEndian.PutUint32(b[start+4:], checksum(number, pos, b[start+8:]))
	return b
}

// parseRecord reads the record at pos of a file's bytes; next is the position behind it.
func parseRecord(data []byte, number uint64, pos int64) (r record, next int64, ok bool) {
	rest := data[pos:]
	if len(rest) < frameBytes {
		return record{}, pos, false
	}
	length := int64(binary.LittleEndian.Uint32(rest))
	kind := recordType(rest[12])
	if kind == 0 || kind > lastRecordType || length > maxRecordBytes || length > int64(len(rest)-frameBytes) {
		return record{}, pos, false
	}
	whole := rest[:frameBytes+length]
	if binary.LittleEndian.Uint32(rest[4:]) != checksum(number, pos, whole[8:]) {
		return record{}, pos, false
	}
	durable := int64(binary.LittleEndian.Uint32(rest[8:]))
	return record{kind: kind, durable: durable, body: whole[frameBytes:]}, pos + int64(len(whole)), true
}

// provenDurable looks behind a bad record at pos for a valid one that proves that pos had been synced.
// Valid records that prove nothing are leftovers of one unsynced write whose pages reached the disk out of order.
func provenDurable(data []byte, number uint64, pos int64) bool {
	for p := pos + 1; p+frameBytes <= int64(len(data)); p++ {
		if r, _, ok := parseRecord(data, number, p); ok && r.durable > pos {
			return true
		}
	}
	return false
}
