package peer

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// run is the client's goroutine: it dials, serves the connection until it ends, pauses, and dials again.
func (c *Client) run() {
	defer close(c.finished)
	defer c.fail(ErrClosed, true)
	select {
	case <-c.kick: // the first use
		c.wake() // and something to write
	case <-c.running.Done():
	}
	failures := 0
	for c.running.Err() == nil {
		start := time.Now()
		conn, err := c.dial()
		if err == nil {
			err = c.serve(conn)
			if c.o.OnDown != nil && c.running.Err() == nil {
				c.o.OnDown(err)
			}
			if time.Since(start) >= c.o.MaxBackoff {
				failures = 0
			}
		}
		c.pause(failures)
		failures++
	}
}

func (c *Client) dial() (net.Conn, error) {
	ctx, cancel := context.WithTimeout(c.running, c.o.DialTimeout)
	defer cancel()
	return c.o.Dial(ctx)
}

// pause waits after the failure with this number, counted from 0. Only what is beyond the shortest pause can be cut short.
func (c *Client) pause(failures int) {
	d := c.o.MaxBackoff
	if failures < 30 {
		d = min(d, c.o.MinBackoff<<failures)
	}
	d = time.Duration(float64(d) * c.o.Jitter())
	shortest := min(d, c.o.MinBackoff)
	t := time.NewTimer(shortest)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.running.Done():
		return
	}
	t.Reset(d - shortest)
	select {
	case <-t.C:
	case <-c.hurry:
	case <-c.running.Done():
	}
}

// serve uses a connection until it ends, and fails what is in flight then.
func (c *Client) serve(conn net.Conn) error {
	c.greet()
	c.mu.Lock()
	c.conn = conn
	c.mu.Unlock()
	if c.running.Err() != nil { // Close came before the connection was there to be closed
		_ = conn.Close()
	}
	if c.o.OnUp != nil {
		c.o.OnUp()
	}
	read := make(chan error, 1)
	go func() { read <- c.read(conn) }()
	err := c.write(conn, read)
	_ = conn.Close()
	if readErr, ok := <-read; ok && readErr != nil { // the reader's reason, unless it had one before
		err = errors.Join(err, readErr)
	}
	c.mu.Lock()
	c.conn = nil
	c.mu.Unlock()
	c.fail(fmt.Errorf("%w: %w", ErrDisconnected, err), false)
	return err
}

// fail ends all calls in flight, and those that are queued too, with an error. One-way messages in the queue are dropped.
func (c *Client) fail(err error, queued bool) {
	c.mu.Lock()
	ended := c.inflight
	c.inflight = nil
	var rest []*call
	for _, k := range c.queued {
		if queued || k.oneWay {
			c.queuedBytes -= len(k.request.b)
			k.request.give()
			ended = append(ended, k)
		} else {
			rest = append(rest, k)
		}
	}
	c.queued = rest
	for _, k := range ended {
		k.answered = true
	}
	c.mu.Unlock()
	if c.running.Err() != nil {
		err = ErrClosed
	}
	for _, k := range ended {
		if !k.oneWay {
			k.done <- reply{err: err}
		}
	}
}

// maxGather is how many bytes of requests are written at a time.
const maxGather = 256 << 10

// write writes what is queued until the connection ends. The reader's end comes by the channel, which it puts back.
func (c *Client) write(conn net.Conn, read chan error) error {
	var batch []*call
	var frames net.Buffers
	for {
		batch = c.next(batch[:0])
		if len(batch) == 0 {
			select {
			case <-c.kick:
				continue
			case err := <-read:
				close(read)
				return err
			}
		}
		frames = frames[:0]
		for _, k := range batch {
			frames = append(frames, k.request.b)
		}
		_ = conn.SetWriteDeadline(time.Now().Add(c.o.WriteTimeout))
		writing := frames
		_, err := writing.WriteTo(conn)
		clear(frames)
		for _, k := range batch {
			k.request.give()
			k.request = nil
		}
		if err != nil {
			return err
		}
	}
}

// next takes calls from the queue that may be written now, and counts them as in flight.
func (c *Client) next(batch []*call) []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken, bytes := 0, 0
	for _, k := range c.queued {
		if bytes >= maxGather || !k.oneWay && len(c.inflight) >= c.o.MaxInflight {
			break
		}
		taken++
		c.queuedBytes -= len(k.request.b)
		k.written = true
		bytes += len(k.request.b)
		batch = append(batch, k)
		if !k.oneWay {
			c.inflight = append(c.inflight, k)
		}
	}
	rest := copy(c.queued, c.queued[taken:])
	clear(c.queued[rest:])
	c.queued = c.queued[:rest]
	return batch
}

// read reads replies until the connection ends.
func (c *Client) read(conn net.Conn) error {
	in := bufio.NewReaderSize(conn, 16<<10)
	for {
		head, err := in.Peek(8) // size and correlation id
		if err != nil {
			return err
		}
		size, correlation := binary.BigEndian.Uint32(head), int32(binary.BigEndian.Uint32(head[4:]))
		if size < 4 || uint64(size) > uint64(c.o.MaxReplyBytes) {
			return fmt.Errorf("reply of %d bytes, the limit is %d", size, c.o.MaxReplyBytes)
		}
		_, _ = in.Discard(4)
		k, wanted := c.head()
		if k == nil || k.header.CorrelationID != correlation {
			return fmt.Errorf("reply with correlation id %d, which is not due", correlation)
		}
		if !wanted {
			if _, err := io.CopyN(io.Discard, in, int64(size)); err != nil {
				return err
			}
			c.answer(k, reply{})
			continue
		}
		buf := takeBuffer(int(size))
		if _, err := io.ReadFull(in, buf.b); err != nil {
			buf.give()
			return err
		}
		body, err := wire.ResponseBody(k.header, buf.b)
		if err != nil {
			buf.give()
			return err
		}
		c.answer(k, reply{buf: buf, body: body})
	}
}

// head is the call whose reply is due next, and whether anyone waits for it.
func (c *Client) head() (k *call, wanted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.inflight) == 0 {
		return nil, false
	}
	k = c.inflight[0]
	return k, !k.abandoned
}

// answer ends the call at the head.
func (c *Client) answer(k *call, r reply) {
	c.mu.Lock()
	full := len(c.inflight) >= c.o.MaxInflight
	c.inflight[0] = nil
	c.inflight = c.inflight[1:]
	k.answered = true
	abandoned := k.abandoned
	if !abandoned {
		k.done <- r // holds one
	}
	c.mu.Unlock()
	if abandoned && r.buf != nil {
		r.buf.give()
	}
	if full {
		c.wake()
	}
}
