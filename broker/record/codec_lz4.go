package record

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/pierrec/lz4/v4"
)

// An LZ4 frame: magic, flags, block descriptor, [content size], header checksum, blocks, end mark, [content checksum].
// A block is a little-endian uint32 with its length, the top bit set when it is stored as it is, its bytes, and its
// checksum if the flags say so. Kafka's Java reader takes independent blocks of the first frame alone; what it could not
// read is refused here, before it is stored. The batch's CRC stands for the frame's checksums, which nobody checks.
const (
	lz4Magic = 0x184D2204

	lz4Version         = 0x40 // of bits 0xc0
	lz4Independent     = 0x20
	lz4BlockChecksum   = 0x10
	lz4ContentSize     = 0x08
	lz4ContentChecksum = 0x04
	lz4Dictionary      = 0x01

	lz4Stored = 1 << 31
)

var errLZ4 = errors.New("malformed lz4 frame")

func decompressLZ4(dst, src []byte, max int) ([]byte, error) {
	if len(src) < 7 || binary.LittleEndian.Uint32(src) != lz4Magic {
		return dst, errLZ4
	}
	flags, sizeClass := src[4], src[5]>>4&7
	if flags&0xc0 != lz4Version || flags&lz4Independent == 0 || flags&lz4Dictionary != 0 || sizeClass < 4 {
		return dst, errLZ4
	}
	maxBlock := 1 << (8 + 2*int(sizeClass)) // 64 KiB to 4 MiB
	at := 7
	if flags&lz4ContentSize != 0 {
		at += 8
	}
	for {
		if at > len(src)-4 {
			return dst, errLZ4
		}
		word := binary.LittleEndian.Uint32(src[at:])
		at += 4
		if word == 0 {
			return dst, nil
		}
		n := int(word &^ lz4Stored)
		if n > maxBlock || n > len(src)-at {
			return dst, errLZ4
		}
		block := src[at : at+n]
		at += n
		if flags&lz4BlockChecksum != 0 {
			at += 4
		}
		var err error
		if word&lz4Stored != 0 {
			if n > max-len(dst) {
				return dst, ErrTooLarge
			}
			dst = append(dst, block...)
		} else if dst, err = decodeLZ4Block(dst, block, maxBlock, max); err != nil {
			return dst, err
		}
	}
}

// maxLZ4Ratio bounds what a block can hold: one byte stands for 255 at most.
const maxLZ4Ratio = 256

func decodeLZ4Block(dst, block []byte, maxBlock, max int) ([]byte, error) {
	room := min(maxBlock, maxLZ4Ratio*len(block), max-len(dst))
	dst = grow(dst, room, max)
	n, err := lz4.UncompressBlock(block, dst[len(dst):len(dst)+room])
	if err != nil {
		if room == max-len(dst) && room < maxBlock { // it may have failed for lack of room alone
			return dst, ErrTooLarge
		}
		return dst, errLZ4
	}
	return dst[:len(dst)+n], nil
}

var lz4Writers sync.Pool

type lz4Writer struct {
	w   *lz4.Writer
	out appender
}

// lz4Levels are Kafka's levels 1 to 17; the library has nine and a fast one. Kafka's default is 9 of 17, which its own
// library treats as fast compression's neighbour: speed matters more here than the last percent.
func lz4Level(level int) lz4.CompressionLevel {
	switch {
	case level <= 9: // and 0
		return lz4.Fast
	case level >= 17:
		return lz4.Level9
	}
	return lz4.CompressionLevel(1 << (8 + level - 9)) // 10 is the library's level 1
}

func compressLZ4(dst, src []byte, level int) ([]byte, error) {
	z, ok := lz4Writers.Get().(*lz4Writer)
	if !ok {
		z = &lz4Writer{w: lz4.NewWriter(nil)}
	}
	z.out.b = dst
	z.w.Reset(&z.out)
	err := z.w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.ConcurrencyOption(1),
		lz4.CompressionLevelOption(lz4Level(level)))
	if err == nil {
		_, err = z.w.Write(src)
	}
	if err == nil {
		err = z.w.Close()
	}
	dst, z.out.b = z.out.b, nil
	if err == nil {
		lz4Writers.Put(z)
	}
	return dst, err
}
