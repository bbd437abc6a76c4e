package conn

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// read is the reader goroutine: frame after frame. It tells whether it was the peer that ended the connection.
func (c *connection) read() (peerEnded bool) {
	src := newSource(c.conn, c.progress)
	defer src.release()
	for c.stop.Err() == nil {
		s, err := c.readFrame(src)
		if err != nil && c.stop.Err() != nil {
			return false
		}
		if err != nil {
			if err != io.EOF {
				c.blame(err)
			}
			return !errors.Is(err, errOversize)
		}
		goOn := c.handle(s)
		s.release()
		if !goOn {
			return false
		}
	}
	return false
}

// errOversize means that a frame claims more than the limit. Nothing of it is read.
var errOversize = errors.New("request is larger than socket.request.max.bytes")

// readFrame reads one frame into a slab.
func (c *connection) readFrame(src *source) (*slab, error) {
	size, err := src.size()
	if err != nil {
		return nil, err
	}
	if uint64(size) > uint64(c.server.config.MaxFrameBytes) {
		c.server.counters.closedOversize.Add(1)
		return nil, fmt.Errorf("size %d: %w", int32(size), errOversize)
	}
	s, err := c.takeSlab(int(size))
	if err != nil {
		return nil, err
	}
	c.touch() // the wait for the slab was not the peer's fault
	c.receiving.Store(true)
	err = src.read(s.buf)
	c.receiving.Store(false)
	if err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

// progress is called after every read.
func (c *connection) progress(n int) {
	c.server.counters.readCalls.Add(1)
	c.server.counters.bytesRead.Add(uint64(n))
	c.touch()
}

// takeSlab waits until the bound on in-flight bytes has room, in the order of asking.
func (c *connection) takeSlab(size int) (*slab, error) {
	k := c.server
	if c.listener.Internal {
		return k.slabs.take(size, nil, 0), nil
	}
	_, charge := slabClass(size)
	charge = min(charge, int(k.config.MaxInflightBytes))
	if !k.inflight.TryAcquire(int64(charge)) {
		k.counters.waitedForInflight.Add(1)
		if err := k.inflight.Acquire(c.stop, int64(charge)); err != nil {
			return nil, err
		}
	}
	return k.slabs.take(size, k.inflight, int64(charge)), nil
}

// handle turns a frame into a reply in the queue; false when nothing more must be read.
func (c *connection) handle(s *slab) bool {
	scope := wire.Everywhere
	if c.listener.Internal {
		scope = wire.Internal
	}
	h, body, err := c.server.apis.ParseRequest(s.buf, scope, c.lastClientID)
	if rejection := (*wire.Rejection)(nil); errors.As(err, &rejection) && rejection.Reason == wire.UnknownApiVersions {
		return c.enqueue(Answer(wire.AppendUnsupportedVersion(nil, h)))
	}
	if err == nil && c.listener.Security != nil {
		err = c.listener.Security.Admit(c.info, h)
	}
	if err != nil {
		c.server.counters.closedRejected.Add(1)
		c.enqueue(Close(&notServedError{err}))
		return false
	}
	c.lastClientID = h.ClientID
	if !c.awaitUnmuted() {
		return false
	}
	c.server.counters.requests.Add(1)
	reply := c.server.handler.Handle(&Request{Header: h, Body: body, Conn: c.info, ReceivedAt: time.Now(), slab: s})
	c.mute(reply)
	return c.enqueue(reply)
}

// notServedError is the cause of a close that the reader decided on, not the handler.
type notServedError struct{ error }

func (e *notServedError) Unwrap() error { return e.error }

// enqueue hands a reply to the writer, waiting while the queue is full; false when the connection is severed.
func (c *connection) enqueue(r *Reply) bool {
	c.due.Add(1)
	select {
	case c.queue <- r:
		return true
	case <-c.severed:
		r.Notify(r.Free)
		return false
	}
}

// mute keeps the next request waiting when the reply says so.
func (c *connection) mute(r *Reply) {
	if d := r.takeThrottle(); d > 0 {
		till := int64(c.elapsed() + d)
		for old := c.mutedTill.Load(); till > old && !c.mutedTill.CompareAndSwap(old, till); old = c.mutedTill.Load() {
		}
	}
}

// awaitUnmuted waits until no throttle is left; false when reading must stop.
func (c *connection) awaitUnmuted() bool {
	for {
		d := time.Duration(c.mutedTill.Load()) - c.elapsed()
		if d <= 0 {
			return true
		}
		c.server.counters.muted.Add(1)
		ok := wait(c.stop, d)
		c.server.counters.muted.Add(-1)
		if !ok {
			return false
		}
	}
}
