package record

import (
	"errors"
	"fmt"
)

// Codec is the compression of a batch's records, as in the low three bits of its attributes.
type Codec int8

const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

var codecNames = [...]string{None: "none", Gzip: "gzip", Snappy: "snappy", LZ4: "lz4", Zstd: "zstd"}

// Known tells whether Kafka defines the codec.
func (c Codec) Known() bool { return c >= None && c <= Zstd }

// String is Kafka's name of the codec.
func (c Codec) String() string {
	if !c.Known() {
		return "unknown"
	}
	return codecNames[c]
}

// ParseCodec reads a value of compression.type; "uncompressed" and "none" are [None]. The value "producer" is no codec.
func ParseCodec(s string) (Codec, bool) {
	if s == "uncompressed" {
		return None, true
	}
	for c, name := range codecNames {
		if name == s {
			return Codec(c), true
		}
	}
	return None, false
}

// errCodec is the cause of a batch with a codec that Kafka does not define.
var errCodec = errors.New("unknown codec")

// Compress appends src, compressed, to dst. Level is in the codec's own numbers (gzip 1 to 9, lz4 1 to 17, zstd 1 to
// 22 and below 0); 0 is Kafka's default. Snappy is framed as the Java client does (xerial), which every client reads.
func (c Codec) Compress(dst, src []byte, level int) ([]byte, error) {
	switch c {
	case None:
		return append(dst, src...), nil
	case Gzip:
		return compressGzip(dst, src, level)
	case Snappy:
		return compressSnappy(dst, src), nil
	case LZ4:
		return compressLZ4(dst, src, level)
	case Zstd:
		return compressZstd(dst, src, level)
	}
	return dst, fmt.Errorf("compress with codec %d: %w", c, errCodec)
}

// Decompress appends the decompressed src to dst, at most limit bytes of it: more is [ErrTooLarge]. Memory grows with
// what was really decompressed, never with what src claims. Every error is [ErrCorrupt].
func (c Codec) Decompress(dst, src []byte, limit int) ([]byte, error) {
	var (
		out = dst
		err error
	)
	most := len(dst) + limit
	switch c {
	case None:
		if len(src) > limit {
			err = ErrTooLarge
		} else {
			out = append(dst, src...)
		}
	case Gzip:
		out, err = decompressGzip(dst, src, most)
	case Snappy:
		out, err = decompressSnappy(dst, src, most)
	case LZ4:
		out, err = decompressLZ4(dst, src, most)
	case Zstd:
		out, err = decompressZstd(dst, src, most)
	default:
		err = errCodec
	}
	if err != nil {
		return dst, &CorruptError{Field: c.String() + " records", Value: int64(len(src)), At: HeaderSize, Err: err}
	}
	return out, nil
}
