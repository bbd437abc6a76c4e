package record

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // never written after start

func (b Batch) setCRC() {
	binary.BigEndian.PutUint32(b[atCRC:], crc32.Checksum(b[atAttributes:], castagnoli))
}

// patchFrom is the size from which a checksum is corrected for a changed header rather than computed over all bytes
// again: correcting takes about as long as 6 KB.
const patchFrom = 8 << 10

// setTimestamps writes type and maximum, and corrects the checksum if one of them was another.
func (b Batch) setTimestamps(t TimestampType, maximum kafka.Timestamp) {
	if b.TimestampType() == t && b.MaxTimestamp() == maximum {
		return
	}
	const changed = atMaxTimestamp + 8 // the first byte after the change
	old := [changed - atAttributes]byte(b[atAttributes:])
	attrs := b.Attributes() &^ attrLogAppendTime
	if t == LogAppendTime {
		attrs |= attrLogAppendTime
	}
	binary.BigEndian.PutUint16(b[atAttributes:], uint16(attrs))
	binary.BigEndian.PutUint64(b[atMaxTimestamp:], uint64(maximum))
	if len(b) < patchFrom {
		b.setCRC()
		return
	}
	// A CRC is linear: that of the new bytes is that of the old ones, xor that of their difference, which is zero but
	// for its start.
	var diff uint32
	for i, was := range old {
		diff = castagnoli[byte(diff)^was^b[atAttributes+i]] ^ diff>>8
	}
	binary.BigEndian.PutUint32(b[atCRC:], b.CRC()^appendZeros(diff, len(b)-changed))
}

// appendZeros is the CRC-32C of a message with this CRC, without the inversions at both ends, followed by n zero bytes:
// the product with x^8n in the field of the polynomial.
func appendZeros(crc uint32, n int) uint32 {
	for power := 3; n > 0; n >>= 1 { // x^8 is x^(2^3)
		if n&1 != 0 {
			crc = multiply(powers[power], crc)
		}
		power++
	}
	return crc
}

// powers[k] is x^(2^k), enough for 2^30 bytes.
var powers = func() (p [34]uint32) {
	p[0] = 1 << 30 // x, with the bits in the order of a CRC: x^0 is the highest
	for k := 1; k < len(p); k++ {
		p[k] = multiply(p[k-1], p[k-1])
	}
	return p
}()

// multiply is the product of two polynomials modulo Castagnoli's.
func multiply(a, b uint32) (product uint32) {
	for ; a != 0; a <<= 1 {
		product ^= b & -(a >> 31)
		b = b>>1 ^ crc32.Castagnoli&-(b&1)
	}
	return product
}
