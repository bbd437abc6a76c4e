package record

import (
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/s2"
)

// The framing of snappy-java, which Kafka's Java clients alone write and everybody reads: this header, then blocks of
// int32 length and raw snappy. Others send one raw block.
var xerialHeader = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}

const (
	xerialMagic = 8        // bytes of the header that identify it; the two versions follow
	xerialBlock = 32 << 10 // uncompressed bytes of a block that we write, as snappy-java's default
)

var errSnappy = errors.New("malformed snappy")

func compressSnappy(dst, src []byte) []byte {
	dst = append(dst, xerialHeader...)
	for first := true; first || len(src) > 0; first = false {
		n := min(len(src), xerialBlock)
		room := s2.MaxEncodedLen(n)
		at := len(dst)
		dst = grow(dst, 4+room, MaxBatchBytes)
		block := s2.EncodeSnappy(dst[at+4:cap(dst)], src[:n])
		dst = dst[:at+4+len(block)]
		binary.BigEndian.PutUint32(dst[at:], uint32(len(block)))
		src = src[n:]
	}
	return dst
}

func decompressSnappy(dst, src []byte, max int) ([]byte, error) {
	if !isXerial(src) {
		return decodeSnappyBlock(dst, src, max)
	}
	src = src[len(xerialHeader):]
	for len(src) > 0 {
		if isXerial(src) { // streams may be joined
			src = src[len(xerialHeader):]
			continue
		}
		if len(src) < 4 {
			return dst, errSnappy
		}
		n := int64(int32(binary.BigEndian.Uint32(src)))
		src = src[4:]
		if n < 0 || n > int64(len(src)) {
			return dst, errSnappy
		}
		var err error
		if dst, err = decodeSnappyBlock(dst, src[:n], max); err != nil {
			return dst, err
		}
		src = src[n:]
	}
	return dst, nil
}

func isXerial(src []byte) bool {
	return len(src) >= len(xerialHeader) && string(src[:xerialMagic]) == string(xerialHeader[:xerialMagic])
}

// maxSnappyRatio bounds what a block can hold: three bytes stand for 64 at most. A block that claims more lies, and
// nothing is allocated for it.
const maxSnappyRatio = 22

func decodeSnappyBlock(dst, block []byte, max int) ([]byte, error) {
	n, err := s2.DecodedLen(block)
	if err != nil {
		return dst, err
	}
	if n > maxSnappyRatio*len(block) {
		return dst, errSnappy
	}
	if n > max-len(dst) {
		return dst, ErrTooLarge
	}
	dst = grow(dst, n, max)
	out, err := s2.Decode(dst[len(dst):len(dst)+n:len(dst)+n], block)
	if err != nil {
		return dst, err
	}
	if len(out) != n {
		return dst, errSnappy
	}
	return dst[:len(dst)+n], nil
}
