package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	stdgzip "compress/gzip"

	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

func textOf(rnd *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = "the quick brown fox "[(i+rnd.IntN(3))%20]
	}
	return b
}

func TestCodecsRoundTripAtEveryLevel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, codec := range allCodecs {
		for _, size := range []int{0, 1, 100, 32 << 10, 32<<10 + 1, 64 << 10, 300_000} {
			src := textOf(rnd, size)
			levels := []int{0, 1, 3, 6, 9, 10, 17, 22, -5}
			if size > 1000 {
				levels = levels[:1] // the slow levels show nothing more
			}
			for _, level := range levels {
				z, err := codec.Compress([]byte("before"), src, level)
				if err != nil {
					t.Fatalf("%v level %d: %v", codec, level, err)
				}
				out, err := codec.Decompress([]byte("kept"), z[len("before"):], size)
				if err != nil || !bytes.Equal(out, append([]byte("kept"), src...)) {
					t.Fatalf("%v level %d, %d bytes: error %v, %d bytes back", codec, level, size, err, len(out))
				}
			}
			z, _ := codec.Compress(nil, src, 0)
			if size > 0 {
				if out, err := codec.Decompress(nil, z, size-1); !errors.Is(err, record.ErrTooLarge) || !errors.Is(err, record.ErrCorrupt) || len(out) != 0 {
					t.Errorf("%v, %d bytes under a limit of one less: error %v", codec, size, err)
				}
			}
		}
	}
}

// What other libraries write, in all the forms in which clients have been seen to write it.
func TestDecompressReadsOthers(t *testing.T) {
	src := textOf(rand.New(rand.NewPCG(3, 4)), 200_000)
	write := func(w io.WriteCloser, buf *bytes.Buffer) []byte {
		for chunk := range slices.Chunk(src, 7000) {
			_, _ = w.Write(chunk)
		}
		_ = w.Close()
		return buf.Bytes()
	}
	lz4As := func(os ...lz4.Option) []byte {
		var buf bytes.Buffer
		w := lz4.NewWriter(&buf)
		if err := w.Apply(os...); err != nil {
			t.Fatal(err)
		}
		return write(w, &buf)
	}
	var gz, zs bytes.Buffer
	zw, _ := zstd.NewWriter(&zs, zstd.WithWindowSize(1<<20))
	xerial := func(version uint32, block int) []byte {
		out := append([]byte{0x82}, "SNAPPY\x00"...)
		out = binary.BigEndian.AppendUint32(out, version)
		out = binary.BigEndian.AppendUint32(out, version)
		for chunk := range slices.Chunk(src, block) {
			z := s2.EncodeSnappy(nil, chunk)
			out = binary.BigEndian.AppendUint32(out, uint32(len(z)))
			out = append(out, z...)
		}
		return out
	}
	half := func(c record.Codec, from, to int) []byte {
		z, _ := c.Compress(nil, src[from:to], 0)
		return z
	}
	for _, c := range []struct {
		name  string
		codec record.Codec
		in    []byte
	}{
		{"gzip of the standard library", record.Gzip, write(stdgzip.NewWriter(&gz), &gz)},
		{"gzip in two members", record.Gzip, slices.Concat(half(record.Gzip, 0, 1000), half(record.Gzip, 1000, len(src)))},
		{"raw snappy", record.Snappy, s2.EncodeSnappy(nil, src)},
		{"xerial", record.Snappy, xerial(1, 32<<10)},
		{"xerial with blocks of 1000 bytes", record.Snappy, xerial(1, 1000)},
		{"xerial of another version", record.Snappy, xerial(7, 32<<10)},
		{"two xerial streams", record.Snappy, slices.Concat(half(record.Snappy, 0, 1000), half(record.Snappy, 1000, len(src)))},
		{"lz4 of 4 MB blocks", record.LZ4, lz4As(lz4.BlockSizeOption(lz4.Block4Mb))},
		{"lz4 with all checksums and the size", record.LZ4, lz4As(lz4.BlockChecksumOption(true), lz4.ChecksumOption(true), lz4.SizeOption(uint64(len(src))))},
		{"zstd as a stream, without its size", record.Zstd, write(zw, &zs)},
		{"zstd in two frames", record.Zstd, slices.Concat(half(record.Zstd, 0, 1000), half(record.Zstd, 1000, len(src)))},
	} {
		if out, err := c.codec.Decompress(nil, c.in, len(src)); err != nil || !bytes.Equal(out, src) {
			t.Errorf("%s: error %v, %d bytes, want %d", c.name, err, len(out), len(src))
		}
		if _, err := c.codec.Decompress(nil, c.in, len(src)-1); !errors.Is(err, record.ErrTooLarge) {
			t.Errorf("%s under a limit of one byte less: error %v, want too large", c.name, err)
		}
		if _, err := c.codec.Decompress(nil, c.in[:len(c.in)-5], len(src)); err == nil && c.codec != record.LZ4 {
			t.Errorf("%s, cut: no error", c.name)
		}
	}
}

// Frames that do not say how large they are, as librdkafka and Java write them, of contents that take far more room than
// the first guess, and end within a block wherever they like.
func TestDecompressZstdFramesOfUnknownSize(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for i := range 300 {
		src := bytes.Repeat(textOf(rnd, 1+rnd.IntN(100)), 1+rnd.IntN(4000))
		var buf bytes.Buffer
		w, _ := zstd.NewWriter(&buf, zstd.WithEncoderCRC(i%2 == 0))
		for chunk := range slices.Chunk(src, 1+len(src)/3) {
			_, _ = w.Write(chunk)
		}
		_ = w.Close()
		in := buf.Bytes()
		if out, err := record.Zstd.Decompress(nil, in, 1<<20); err != nil || !bytes.Equal(out, src) {
			t.Fatalf("%d bytes in %d: error %v, got %d bytes", len(src), len(in), err, len(out))
		}
		if out, err := record.Zstd.Decompress(nil, in, len(src)); err != nil || !bytes.Equal(out, src) {
			t.Fatalf("%d bytes in %d under a limit as large: error %v, got %d bytes", len(src), len(in), err, len(out))
		}
		if _, err := record.Zstd.Decompress(nil, in, len(src)-1); !errors.Is(err, record.ErrTooLarge) {
			t.Fatalf("%d bytes in %d under a limit of one byte less: error %v, want too large", len(src), len(in), err)
		}
		in[len(in)/2] ^= 0x55
		if out, err := record.Zstd.Decompress(nil, in, 1<<20); err != nil && len(out) != 0 {
			t.Fatalf("%d bytes with an error", len(out))
		}
	}
}

// What we write, read by the libraries that other clients are built on.
func TestOthersReadWhatWeCompress(t *testing.T) {
	src := textOf(rand.New(rand.NewPCG(5, 6)), 200_000)
	z := map[record.Codec][]byte{}
	for _, c := range allCodecs {
		z[c], _ = c.Compress(nil, src, 0)
	}
	gz, err := stdgzip.NewReader(bytes.NewReader(z[record.Gzip]))
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, out []byte, err error) {
		if err != nil || !bytes.Equal(out, src) {
			t.Errorf("%s: error %v, %d bytes", name, err, len(out))
		}
	}
	out, err := io.ReadAll(gz)
	check("gzip", out, err)
	out, err = io.ReadAll(lz4.NewReader(bytes.NewReader(z[record.LZ4])))
	check("lz4", out, err)
	if f := z[record.LZ4][4]; f&0x20 == 0 || z[record.LZ4][5] != 0x40 {
		t.Errorf("lz4 frame with flags %#x and descriptor %#x, want independent blocks of 64 KB as Java needs", f, z[record.LZ4][5])
	}
	zd, _ := zstd.NewReader(nil)
	out, err = zd.DecodeAll(z[record.Zstd], nil)
	check("zstd", out, err)
	if x := z[record.Snappy]; string(x[:16]) != "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01" {
		t.Errorf("snappy starts with %q, want the header of snappy-java", x[:16])
	}
}

// A few bytes that claim gigabytes must be refused without the memory for them.
func TestClaimsAreNotBelieved(t *testing.T) {
	linked, _ := record.LZ4.Compress(nil, []byte("some text"), 0)
	linked[4] &^= 0x20
	for _, c := range []struct {
		name  string
		codec record.Codec
		in    []byte
	}{
		{"raw snappy of 1 GB in 6 bytes", record.Snappy, []byte{0x80, 0x80, 0x80, 0x80, 0x04, 0}},
		{"xerial block of 2 GB", record.Snappy, append([]byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"), 0x7f, 255, 255, 255, 0)},
		{"xerial block of negative length", record.Snappy, append([]byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"), 255, 255, 255, 255, 0)},
		{"zstd frame of 1 GB", record.Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x40, 1, 0, 0}},
		{"zstd frame of 1 GB in a window of 1 MB", record.Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0x80, 0x50, 0, 0, 0, 0x40, 1, 0, 0}},
		{"zstd window of 1 TB", record.Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0xf0, 1, 0, 0}},
		{"lz4 block of 2 GB", record.LZ4, []byte{4, 0x22, 0x4d, 0x18, 0x60, 0x40, 0, 255, 255, 255, 0x7f}},
		{"lz4 with linked blocks, which Java cannot read", record.LZ4, linked},
		{"nothing, as lz4", record.LZ4, nil},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if out, err := c.codec.Decompress(nil, c.in, 1<<30); !errors.Is(err, record.ErrCorrupt) {
			t.Errorf("%s: error %v, %d bytes", c.name, err, len(out))
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
			t.Errorf("%s: %d bytes allocated for %d bytes of input", c.name, n, len(c.in))
		}
	}
}

func TestCodecsMayBeUsedByManyGoroutines(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 0))
			for range 20 {
				codec, src := allCodecs[rnd.IntN(len(allCodecs))], textOf(rnd, rnd.IntN(50_000))
				z, err := codec.Compress(nil, src, rnd.IntN(12))
				if err != nil {
					t.Error(err)
				}
				if out, err := codec.Decompress(nil, z, 50_000); err != nil || !bytes.Equal(out, src) {
					t.Errorf("%v: error %v, or other bytes than went in", codec, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestCodecNames(t *testing.T) {
	for _, c := range allCodecs {
		if got, ok := record.ParseCodec(c.String()); !ok || got != c {
			t.Errorf("%v is read back as %v, %v", c, got, ok)
		}
	}
	if c, ok := record.ParseCodec("uncompressed"); !ok || c != record.None {
		t.Errorf("uncompressed is %v, %v", c, ok)
	}
	if _, ok := record.ParseCodec("producer"); ok || record.Codec(5).Known() || record.Codec(6).String() != "unknown" {
		t.Error("producer is no codec, and there are five")
	}
	if _, err := record.Codec(6).Compress(nil, nil, 0); err == nil {
		t.Error("codec 6 compresses")
	}
	if _, err := record.Codec(6).Decompress(nil, nil, 0); !errors.Is(err, record.ErrCorrupt) {
		t.Errorf("codec 6 decompresses with %v", err)
	}
}
