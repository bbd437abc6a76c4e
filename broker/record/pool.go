package record

import "sync"

// maxPooledBytes bounds a buffer that is kept for reuse; larger ones are left to the collector, so that one huge batch
// does not hold its memory for ever.
const maxPooledBytes = 8 << 20

// buffer is memory for decompressed records or for one compression.
type buffer struct{ b []byte }

// buffers and the pools of codec_*.go are the package's only state: memory, whose content nobody reads.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

func getBuffer() *buffer {
	b := buffers.Get().(*buffer)
	b.b = b.b[:0]
	return b
}

// free gives the buffer back. Whatever views it is invalid from here.
func (b *buffer) free() {
	if cap(b.b) <= maxPooledBytes {
		buffers.Put(b)
	}
}

// grow makes room for more bytes, at least by doubling, but without passing limit in total beyond what is asked for.
func grow(dst []byte, more, limit int) []byte {
	if cap(dst)-len(dst) >= more {
		return dst
	}
	n := max(len(dst)+more, min(limit, 2*cap(dst)))
	bigger := make([]byte, len(dst), n)
	copy(bigger, dst)
	return bigger
}
