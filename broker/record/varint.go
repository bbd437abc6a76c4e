package record

import "encoding/binary"

// varint reads a zig-zag varint of 64 bits from b at position at. Next is 0 when there is none.
func varint(b []byte, at int) (v int64, next int) {
	if at < len(b) && b[at] < 0x80 { // one byte: most of them
		u := uint64(b[at])
		return int64(u>>1) ^ -int64(u&1), at + 1
	}
	if at >= len(b) {
		return 0, 0
	}
	v, n := binary.Varint(b[at:])
	if n <= 0 {
		return 0, 0
	}
	return v, at + n
}

// varintSize is the number of bytes that v takes.
func varintSize(v int64) int {
	u := uint64(v)<<1 ^ uint64(v>>63)
	n := 1
	for u >= 0x80 {
		u >>= 7
		n++
	}
	return n
}
