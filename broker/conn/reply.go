package conn

import (
	"io"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Releaser gives something back, exactly once.
type Releaser interface{ Release() }

// File is what a chunk reads from; vfs.File is one. Fd gives the descriptor for sendfile, false when there is none.
type File interface {
	io.ReaderAt
	Fd() (fd uintptr, ok bool)
}

// Chunk is a part of a reply: Bytes, or [Pos, Pos+Len) of File. A file's range must stay as long as it is until the
// owner is released, whatever happens to the segment: its length is already promised in the frame's size.
type Chunk struct {
	Bytes []byte
	File  File
	Pos   int64
	Len   int
	Owner Releaser // may be nil
}

// Size is the chunk's length in bytes.
func (c Chunk) Size() int {
	if c.File != nil {
		return c.Len
	}
	return len(c.Bytes)
}

// Outcome is what becomes of a request.
type Outcome uint8

const (
	// Undecided: a pending reply that is not complete.
	Undecided Outcome = iota
	// Answered: the chunks are written.
	Answered
	// Unanswered: nothing is written (acks=0, one-way messages).
	Unanswered
	// Closed: replies before this one are written, then the connection ends.
	Closed
)

// Reply is the answer to one request, now or later.
type Reply struct {
	mu       sync.Mutex
	outcome  Outcome
	chunks   []Chunk
	first    [1]Chunk // backs chunks for the usual reply of one
	cause    error
	throttle time.Duration
	notify   func()

	timer    Timer
	key      kmsg.Key
	received time.Time
}

// Timer is told how long requests took.
type Timer interface {
	// Replied is called once for each reply, by whoever completes it: took is from the last byte of the request to the completed reply.
	Replied(key kmsg.Key, took time.Duration)
}

// Time has t told when the reply to req is complete; at once if it is. It is called at most once, before the reply is handed on.
func (r *Reply) Time(req *Request, t Timer) {
	r.mu.Lock()
	complete := r.outcome != Undecided
	if !complete {
		r.timer, r.key, r.received = t, req.Header.Key, req.ReceivedAt
	}
	r.mu.Unlock()
	if complete {
		t.Replied(req.Header.Key, time.Since(req.ReceivedAt))
	}
}

// Answer is a complete reply of one frame, size included (see wire.AppendResponse). The bytes are the reply's from now on.
func Answer(frame []byte) *Reply {
	r := &Reply{outcome: Answered}
	r.first[0] = Chunk{Bytes: frame}
	r.chunks = r.first[:]
	return r
}

// AnswerChunks is a complete reply of one frame in several parts. The slice is the reply's from now on.
func AnswerChunks(chunks []Chunk) *Reply { return &Reply{outcome: Answered, chunks: chunks} }

// None is the complete reply to a request that wants no answer.
func None() *Reply { return &Reply{outcome: Unanswered} }

// Close is the complete reply that ends the connection, once the replies before it are written.
func Close(cause error) *Reply { return &Reply{outcome: Closed, cause: cause} }

// Pending is a reply that is completed later, exactly once.
func Pending() *Reply { return &Reply{} }

// Throttle mutes the connection for d after this reply: the next request is handled no sooner. It is called before
// completion, and returns the reply. The reply itself goes out at once with its throttle time, as Kafka does since 2.0.
func (r *Reply) Throttle(d time.Duration) *Reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.throttle = d
	return r
}

// Complete answers a pending reply with one frame in one or more parts. The slice is the reply's from now on.
func (r *Reply) Complete(chunks ...Chunk) { r.complete(Answered, chunks, nil) }

// CompleteFrame answers a pending reply with one frame of bytes.
func (r *Reply) CompleteFrame(frame []byte) {
	r.first[0] = Chunk{Bytes: frame}
	r.complete(Answered, r.first[:], nil)
}

// CompleteNone ends a pending reply without an answer.
func (r *Reply) CompleteNone() { r.complete(Unanswered, nil, nil) }

// CompleteClose ends a pending reply by closing the connection, once the replies before it are written.
func (r *Reply) CompleteClose(cause error) { r.complete(Closed, nil, cause) }

func (r *Reply) complete(o Outcome, chunks []Chunk, cause error) {
	r.mu.Lock()
	if r.outcome != Undecided {
		r.mu.Unlock()
		panic("conn: reply completed twice")
	}
	r.outcome, r.chunks, r.cause = o, chunks, cause
	notify := r.notify
	r.notify = nil
	timer := r.timer
	r.mu.Unlock()
	if timer != nil {
		timer.Replied(r.key, time.Since(r.received))
	}
	if notify != nil {
		notify()
	}
}

// Notify has f called once when the reply is complete: at once if it is already, else by the goroutine that completes
// it. The connection uses it; so do tests and the simulation, which have no connection. Only the last f is kept.
func (r *Reply) Notify(f func()) {
	r.mu.Lock()
	if r.outcome == Undecided {
		r.notify = f
		f = nil
	}
	r.mu.Unlock()
	if f != nil {
		f()
	}
}

// Result is the reply's state: its outcome, its chunks when answered, the cause when closed.
func (r *Reply) Result() (o Outcome, chunks []Chunk, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome, r.chunks, r.cause
}

func (r *Reply) isComplete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome != Undecided
}

// takeThrottle gives the throttle once.
func (r *Reply) takeThrottle() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.throttle
	r.throttle = 0
	return d
}

// Free releases the owners of all chunks. Whoever consumed the reply calls it once: the connection, or a test.
func (r *Reply) Free() {
	r.mu.Lock()
	chunks := r.chunks
	r.chunks = nil
	r.mu.Unlock()
	freeChunks(chunks)
}

func freeChunks(chunks []Chunk) {
	for i := range chunks {
		if o := chunks[i].Owner; o != nil {
			chunks[i].Owner = nil
			o.Release()
		}
	}
}
