package record

import (
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// maxZstdWindow is the largest window that a frame may ask for: 2^27, as zstd's own decoders and so Java's.
const maxZstdWindow = 1 << 27

// zstdGuess is the room made at first for a frame that does not say how large it is, as those of Java do not: so many
// times its bytes, or what pooled memory there is if that is more. Each further try has so many times the room.
const zstdGuess = 4

// maxZstdBlock is the most that one block of a frame holds.
const maxZstdBlock = 128 << 10

// maxZstdRatio bounds what a frame can hold: a block takes four bytes at least. One that claims more lies.
const maxZstdRatio = maxZstdBlock / 4

var errZstd = errors.New("zstd frame claims more than its bytes can hold")

var zstdReaders sync.Pool

// decompressZstd decodes in memory, never as a stream: so the window that a frame claims is never allocated, only what
// it really holds. A frame without its size is tried again with more room each time, up to the limit.
//
// The library has a name for the want of room between two blocks only. Inside a block it is an error like those of damaged
// blocks; what tells them apart is that a block for which there was room has not failed for want of it.
func decompressZstd(dst, src []byte, max int) ([]byte, error) {
	z, ok := zstdReaders.Get().(*zstd.Decoder)
	if !ok {
		var err error
		z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return dst, err
		}
	}
	defer zstdReaders.Put(z)
	start := len(dst)
	possible := start + maxZstdRatio*len(src)
	for room := firstZstdRoom(src); ; room = more(room) {
		room = min(room, max-start, possible-start)
		dst = grow(dst[:start], room, max)
		limited := dst[:start:min(cap(dst), max)]
		out, err := z.DecodeAll(src, limited)
		if err == nil {
			return out, nil
		}
		exceeded := errors.Is(err, zstd.ErrDecoderSizeExceeded)
		if !exceeded && cap(limited)-len(out) >= maxZstdBlock {
			return dst[:start], err
		}
		if cap(limited) >= max {
			return dst[:start], ErrTooLarge
		}
		if cap(limited) >= possible {
			if exceeded {
				err = errZstd
			}
			return dst[:start], err
		}
	}
}

// more is the room of the next try: what may have been too little then is not for the block that failed now.
func more(room int) int { return max(zstdGuess*room, maxZstdBlock) }

func firstZstdRoom(src []byte) int {
	var h zstd.Header
	if h.Decode(src) == nil && h.HasFCS && h.FrameContentSize <= maxZstdRatio*uint64(len(src)) {
		return max(int(h.FrameContentSize), 1)
	}
	return zstdGuess * max(len(src), 1)
}

// zstdWriters has a pool for each of the library's levels.
var zstdWriters [zstd.SpeedBestCompression + 1]sync.Pool

func compressZstd(dst, src []byte, level int) ([]byte, error) {
	if level == 0 {
		level = 3 // Kafka's default
	}
	speed := zstd.EncoderLevelFromZstd(level)
	pool := &zstdWriters[speed]
	z, ok := pool.Get().(*zstd.Encoder)
	if !ok {
		var err error
		z, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(speed), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return dst, err
		}
	}
	dst = z.EncodeAll(src, dst)
	pool.Put(z)
	return dst, nil
}
