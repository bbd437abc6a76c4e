package record

import "encoding/binary"

// skimRoom is how many bytes the first part of a record may take: three varints of three bytes, the attributes, and
// four more so that a word can be read at each of them.
const skimRoom = 3 + 1 + 3 + 3 + 3 + 4

// skim is [parseFrame] for the records that almost all are: varints of at most three bytes and no headers. It gives what
// validation needs; next is 0 when parseFrame must judge.
//
// It reads before it knows that the record reaches so far, but never outside data; as the parts only ever move forward,
// that they end where the length says proves that none of them went beyond.
func skim(data []byte, at int) (next int, timestampDelta int64, offsetDelta int32, hasKey bool) {
	if len(data)-at < skimRoom {
		return 0, 0, 0, false
	}
	d := data[at:]
	size, p := short(d, 0)
	end := p + int(size>>1)
	if p == 0 || size&1 != 0 || end > len(d) {
		return 0, 0, 0, false
	}
	ts, n := short(d, p+1)
	if n == 0 {
		return 0, 0, 0, false
	}
	offset, p := short(d, n)
	if p == 0 {
		return 0, 0, 0, false
	}
	key, p := short(d, p)
	if p == 0 {
		return 0, 0, 0, false
	}
	if key != null {
		p += int(key >> 1)
		if key&1 != 0 || p > len(d)-4 {
			return 0, 0, 0, false
		}
	}
	value, p := short(d, p)
	if p == 0 {
		return 0, 0, 0, false
	}
	if value != null {
		p += int(value >> 1)
		if value&1 != 0 || p >= len(d) {
			return 0, 0, 0, false
		}
	}
	if d[p] != 0 || p+1 != end {
		return 0, 0, 0, false
	}
	return at + end, int64(ts>>1) ^ -int64(ts&1), int32(offset>>1) ^ -int32(offset&1), key != null
}

// null is the length -1 before zig-zag is undone; other odd ones are negative too.
const null = 1

// short reads a varint of at most three bytes, zig-zag not undone, from the four bytes at p. Next is 0 for a longer one.
func short(d []byte, p int) (u uint32, next int) {
	x := binary.LittleEndian.Uint32(d[p:])
	switch {
	case x&0x80 == 0:
		return x & 0x7f, p + 1
	case x&0x8000 == 0:
		return x&0x7f | x>>1&0x3f80, p + 2
	case x&0x800000 == 0:
		return x&0x7f | x>>1&0x3f80 | x>>2&0x1fc000, p + 3
	}
	return 0, 0
}
