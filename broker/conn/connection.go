package conn

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// connection is one accepted connection.
//
//	reading ──> draining ──> ended
//	   └───────────┴────────────^   sever
//
// The reader alone sends on queue. When reading stops, for whatever reason, the queue is closed; the writer then writes
// what is left in it, and the connection ends. A write error, idleness or the end of Shutdown's patience severs: the
// socket is closed and what is left is dropped.
type connection struct {
	server   *Server
	listener Listener
	accepted net.Conn
	info     *Info
	cancel   context.CancelFunc // of info.Context

	// conn is accepted, or what Security made of it. It is set before the goroutines that use it start.
	conn net.Conn
	// queue holds the replies in the order of their requests.
	queue chan *Reply
	// wake tells the writer that the reply which it waits for may be complete.
	wake     chan struct{}
	wakeFunc func()
	// severed is closed when the connection must end at once.
	severed   chan struct{}
	severOnce sync.Once
	// cause is why the connection ends; the first counts.
	cause atomic.Pointer[error]
	// stop ends when reading must: at Shutdown, and with the connection.
	stop     context.Context
	stopFunc context.CancelFunc
	// lastClientID is the reader's.
	lastClientID string
	mutedTill    atomic.Int64 // elapsed nanoseconds

	lastActive atomic.Int64 // elapsed nanoseconds of the last progress in either direction
	due        atomic.Int64 // requests read and not yet answered
	writing    atomic.Bool  // a write is under way
	receiving  atomic.Bool  // a request has its slab and is not whole
}

func newConnection(s *Server, l Listener, c net.Conn, id uint64) *connection {
	ctx, cancel := context.WithCancel(s.running)
	stop, stopFunc := context.WithCancel(s.stopping)
	conn := &connection{
		server: s, listener: l, accepted: c, cancel: cancel,
		info:    &Info{ID: id, Listener: l.Name, Internal: l.Internal, Local: c.LocalAddr(), Remote: c.RemoteAddr(), Context: ctx},
		queue:   make(chan *Reply, s.config.MaxQueuedReplies),
		wake:    make(chan struct{}, 1),
		severed: make(chan struct{}),
		stop:    stop, stopFunc: stopFunc,
	}
	conn.wakeFunc = func() {
		select {
		case conn.wake <- struct{}{}:
		default:
		}
	}
	conn.touch()
	return conn
}

// run serves the connection to its end.
func (c *connection) run() {
	defer c.report()
	defer c.sever()
	if !c.secure() {
		return
	}
	var writer sync.WaitGroup
	writer.Go(c.write)
	if peerEnded := c.read(); peerEnded {
		// Handlers may stop waiting for the sake of this connection. What is complete soon is still written, since the other end
		// may have closed its sending half only.
		c.cancel()
		defer time.AfterFunc(maxHalfClosed, c.sever).Stop()
		close(c.queue)
		writer.Wait()
	} else {
		close(c.queue)
		writer.Wait()
		c.linger()
	}
	_ = c.conn.Close()
}

// maxHalfClosed is how long replies are awaited for a peer that has closed its end.
const maxHalfClosed = 10 * time.Second

// maxLinger and maxLingerBytes bound linger.
const maxLinger, maxLingerBytes = 200 * time.Millisecond, 1 << 20

// linger reads and drops what the peer still sends. To close a socket with unread bytes resets the connection, which may
// take from the peer the replies just written: at a graceful stop, acknowledgements.
func (c *connection) linger() {
	tcp, ok := c.accepted.(*net.TCPConn)
	if !ok || tcp.CloseWrite() != nil {
		return
	}
	_ = tcp.SetReadDeadline(time.Now().Add(maxLinger))
	_, _ = io.CopyN(io.Discard, tcp, maxLingerBytes)
}

// secure lets Security have the first word.
func (c *connection) secure() bool {
	c.conn = c.accepted
	if c.listener.Security == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(c.stop, c.server.config.MaxHandshake)
	defer cancel()
	conn, err := c.listener.Security.Secure(ctx, c.accepted, c.info)
	if err != nil {
		c.server.counters.refusedSecurity.Add(1)
		c.blame(err)
		return false
	}
	c.conn = conn
	return true
}

// stopReading has the reader stop after the request that it handles.
func (c *connection) stopReading() {
	c.stopFunc()
	_ = c.accepted.SetReadDeadline(time.Unix(1, 0))
}

// sever ends the connection at once: both goroutines fail at what they do next.
func (c *connection) sever() {
	c.severOnce.Do(func() {
		close(c.severed)
		c.cancel()
		c.stopFunc()
		_ = c.accepted.Close()
	})
}

// blame remembers why the connection ends, unless that is known already.
func (c *connection) blame(err error) {
	if err != nil {
		c.cause.CompareAndSwap(nil, &err)
	}
}

func (c *connection) report() {
	if cause := c.cause.Load(); cause != nil && c.server.config.OnClose != nil {
		c.server.config.OnClose(c.info, *cause)
	}
}

func (c *connection) elapsed() time.Duration { return time.Since(c.server.origin) }

// touch records progress.
func (c *connection) touch() { c.lastActive.Store(int64(c.elapsed())) }
