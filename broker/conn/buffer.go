package conn

import "sync"

// bufferBytes is the size of the buffers that connections read into and gather small writes in. A connection holds one
// only while there are bytes in it, so that an idle connection costs its two goroutines and little else.
const bufferBytes = 64 << 10

// buffers is a pool of them. It has no state that anyone could observe.
var buffers = sync.Pool{New: func() any { return new([bufferBytes]byte) }}

func takeBuffer() *[bufferBytes]byte  { return buffers.Get().(*[bufferBytes]byte) }
func giveBuffer(b *[bufferBytes]byte) { buffers.Put(b) }
