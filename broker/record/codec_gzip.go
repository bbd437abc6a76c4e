package record

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// appender is an io.Writer that appends.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// gzipWriters has a pool for each level from -1 (Kafka's default, 6) to 9, at level + 1.
var gzipWriters [11]sync.Pool

type gzipWriter struct {
	w   *gzip.Writer
	out appender
}

func compressGzip(dst, src []byte, level int) ([]byte, error) {
	if level < 1 || level > 9 {
		level = gzip.DefaultCompression
	}
	pool := &gzipWriters[level+1]
	z, ok := pool.Get().(*gzipWriter)
	if !ok {
		z = new(gzipWriter)
		var err error
		if z.w, err = gzip.NewWriterLevel(nil, level); err != nil {
			return dst, err
		}
	}
	z.out.b = dst
	z.w.Reset(&z.out)
	_, err := z.w.Write(src)
	if err == nil {
		err = z.w.Close()
	}
	dst, z.out.b = z.out.b, nil
	pool.Put(z)
	return dst, err
}

var gzipReaders sync.Pool

type gzipReader struct {
	r  gzip.Reader
	in bytes.Reader
}

func decompressGzip(dst, src []byte, max int) ([]byte, error) {
	z, ok := gzipReaders.Get().(*gzipReader)
	if !ok {
		z = new(gzipReader)
	}
	z.in.Reset(src)
	err := z.r.Reset(&z.in)
	if err == nil {
		dst, err = readAll(dst, &z.r, 4*len(src), max)
	}
	z.in.Reset(nil)
	gzipReaders.Put(z)
	return dst, err
}

// readAll appends all of r to dst, up to max bytes in total. Guess is how much to make room for at first.
func readAll(dst []byte, r io.Reader, guess, max int) ([]byte, error) {
	dst = grow(dst, min(guess, max-len(dst)), max)
	for {
		if len(dst) == cap(dst) || len(dst) >= max {
			if len(dst) >= max {
				return dst, expectEOF(r)
			}
			dst = grow(dst, 1, max)
		}
		n, err := r.Read(dst[len(dst):min(cap(dst), max)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// expectEOF tells whether what was read up to the limit was all.
func expectEOF(r io.Reader) error {
	var one [1]byte
	switch _, err := io.ReadFull(r, one[:]); err {
	case io.EOF:
		return nil
	case nil:
		return ErrTooLarge
	default:
		return err
	}
}
