package peer

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// call is one request on its way.
//
//	queued ──> written ──> answered        two-way
//	queued ──> written                     one-way
//
// A call in any state may be abandoned: its caller is gone, and its reply is dropped.
type call struct {
	request *buffer // the whole frame; the client's until it is written or the call ends
	header  wire.RequestHeader
	oneWay  bool
	done    chan reply // holds one; nil when one-way

	// Guarded by the client's mutex:
	written, answered, abandoned bool
}

// reply is a response's body, a view of buf, or an error.
type reply struct {
	buf  *buffer
	body []byte
	err  error
}

func newCall(request *buffer, key kmsg.Key, version int16, oneWay bool) *call {
	k := &call{request: request, header: wire.RequestHeader{Key: key, Version: version}, oneWay: oneWay}
	if !oneWay {
		k.done = make(chan reply, 1)
	}
	return k
}

// number sets the correlation id, which is behind size, key and version.
func (k *call) number(correlation int32) {
	k.header.CorrelationID = correlation
	binary.BigEndian.PutUint32(k.request.b[8:], uint32(correlation))
}

// buffer is a pooled buffer.
type buffer struct{ b []byte }

// Buffers come in classes of powers of two; what is larger than the largest is not pooled.
const minBufferShift, maxBufferShift = 10, 27

var buffers [maxBufferShift - minBufferShift + 1]sync.Pool

// takeBuffer gives a buffer of n bytes with undefined contents.
func takeBuffer(n int) *buffer {
	shift := max(bits.Len(uint(max(n, 1)-1)), minBufferShift)
	if shift > maxBufferShift {
		return &buffer{make([]byte, n)}
	}
	if p, ok := buffers[shift-minBufferShift].Get().(*buffer); ok {
		p.b = p.b[:n]
		return p
	}
	return &buffer{make([]byte, n, 1<<shift)}
}

// give puts a buffer back. It may have grown by append.
func (p *buffer) give() {
	shift := bits.Len(uint(cap(p.b))) - 1 // of the class that it certainly has room for
	if shift >= minBufferShift && shift <= maxBufferShift {
		buffers[shift-minBufferShift].Put(p)
	}
}
