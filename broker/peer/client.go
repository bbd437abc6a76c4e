package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// ErrDisconnected means that the connection ended while the request was in flight: it may have been carried out. From Send it
// means that no connection is up.
var ErrDisconnected = errors.New("peer disconnected")

// ErrClosed means that the client was closed.
var ErrClosed = errors.New("peer client closed")

// ErrBusy means that the queue is full.
var ErrBusy = errors.New("peer busy")

// Options are a client's seams and bounds. A zero bound gets the default.
type Options struct {
	// Dial connects; it must honour the context. See [DialTCP].
	Dial func(ctx context.Context) (net.Conn, error)
	// ClientID is sent with every request.
	ClientID string
	// MaxInflight bounds requests written and not answered. Default 64.
	MaxInflight int
	// MaxQueuedBytes bounds request bytes queued and not written; one request alone may have more. Default 64 MiB.
	MaxQueuedBytes int
	// MaxReplyBytes bounds a reply's size; beyond it the connection is closed. Default 100 MiB + 64 KiB.
	MaxReplyBytes int
	// DialTimeout bounds one attempt. Default 2 s.
	DialTimeout time.Duration
	// WriteTimeout bounds writing what is gathered at a time. Default 5 s.
	WriteTimeout time.Duration
	// The pause after a failed attempt doubles from MinBackoff (default 20 ms) to MaxBackoff (default 1 s), times a factor
	// that Jitter gives, in [0.5, 1). A nil Jitter gives 0.75 always.
	MinBackoff, MaxBackoff time.Duration
	Jitter                 func() float64
	// Hello is a one-way message that goes first on each connection, so that the other side can tell whether it is the one that is meant: an
	// address may have passed to somebody else. May be nil.
	Hello func() kmsg.Request
	// OnUp and OnDown are called from the client's goroutine when a connection is made and when an established one ends
	// without Close. They must not block. Either may be nil.
	OnUp   func()
	OnDown func(cause error)
}

// Client is pipelined requests to one broker.
type Client struct {
	o           Options
	correlation atomic.Int32
	running     context.Context
	stop        context.CancelFunc
	finished    chan struct{}
	// kick tells the goroutine that there may be something to write, or that the client is used for the first time.
	kick chan struct{}
	// hurry cuts the pause after a failure short.
	hurry chan struct{}

	mu sync.Mutex
	// Guarded by mu:
	conn        net.Conn // nil while none is up
	queued      []*call  // not written, in order
	queuedBytes int
	inflight    []*call // written and not answered, in order; one-way messages are not among them
}

// New makes a client, which dials when it is first used and keeps a connection up from then on. It must be closed.
func New(o Options) *Client {
	o.MaxInflight = cmp.Or(o.MaxInflight, 64)
	o.MaxQueuedBytes = cmp.Or(o.MaxQueuedBytes, 64<<20)
	o.MaxReplyBytes = cmp.Or(o.MaxReplyBytes, 100<<20+64<<10)
	o.DialTimeout = cmp.Or(o.DialTimeout, 2*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 5*time.Second)
	o.MinBackoff = cmp.Or(o.MinBackoff, 20*time.Millisecond)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, time.Second)
	if o.Jitter == nil {
		o.Jitter = func() float64 { return 0.75 }
	}
	c := &Client{o: o, finished: make(chan struct{}), kick: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
	c.running, c.stop = context.WithCancel(context.Background())
	go c.run()
	return c
}

// Do sends a request at the version set on it and waits for its response. Byte fields of the response are valid until
// release is called, once; strings are copies. On an error release is nil.
//
// When the context's deadline passes while the request is in flight, the connection is closed: replies come in order,
// so nothing behind it could be answered either. When the context is cancelled, the reply is dropped and the connection stays.
func (c *Client) Do(ctx context.Context, req kmsg.Request) (resp kmsg.Response, release func(), err error) {
	buf := takeBuffer(0)
	buf.b = wire.AppendRequest(buf.b[:0], c.o.ClientID, 0, req)
	reply, err := c.roundTrip(ctx, newCall(buf, kmsg.Key(req.Key()), req.GetVersion(), false))
	if err != nil {
		return nil, nil, fmt.Errorf("%s to peer: %w", kmsg.NameForKey(req.Key()), err)
	}
	resp = req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := wire.Decode(resp, reply.body); err != nil {
		reply.buf.give()
		return nil, nil, fmt.Errorf("%s to peer: decode response: %w", kmsg.NameForKey(req.Key()), err)
	}
	return resp, reply.buf.give, nil
}

// DoRaw sends a request's body as it is and returns the response's body (what follows its header), valid until release
// is called, once.
func (c *Client) DoRaw(ctx context.Context, key kmsg.Key, version int16, body []byte) (resp []byte, release func(), err error) {
	buf := takeBuffer(0)
	buf.b = wire.AppendRawRequest(buf.b[:0], wire.RequestHeader{Key: key, Version: version, ClientID: c.o.ClientID}, body)
	reply, err := c.roundTrip(ctx, newCall(buf, key, version, false))
	if err != nil {
		return nil, nil, fmt.Errorf("%s to peer: %w", key.Name(), err)
	}
	return reply.body, reply.buf.give, nil
}

// Send queues a one-way message: a request to which the other side never responds (wire.KeyRaft). It does not block:
// ErrBusy when the queue is full, ErrDisconnected when no connection is up. The request is encoded before Send returns.
// A nil error promises nothing: the connection may end before the message is written.
func (c *Client) Send(req kmsg.Request) error {
	buf := takeBuffer(0)
	buf.b = wire.AppendRequest(buf.b[:0], c.o.ClientID, 0, req)
	return c.enqueue(newCall(buf, kmsg.Key(req.Key()), req.GetVersion(), true))
}

// greet puts the hello before everything else that is queued.
func (c *Client) greet() {
	if c.o.Hello == nil {
		return
	}
	req := c.o.Hello()
	buf := takeBuffer(0)
	buf.b = wire.AppendRequest(buf.b[:0], c.o.ClientID, 0, req)
	k := newCall(buf, kmsg.Key(req.Key()), req.GetVersion(), true)
	c.mu.Lock()
	defer c.mu.Unlock()
	k.number(c.correlation.Add(1))
	c.queued = slices.Insert(c.queued, 0, k)
	c.queuedBytes += len(buf.b)
}

// Connect has the client dial though there is nothing to send, and soon though the last attempts failed: for who knows that the
// other side is there. Attempts are MinBackoff apart all the same.
func (c *Client) Connect() {
	if c.Connected() {
		return
	}
	select {
	case c.hurry <- struct{}{}:
	default:
	}
	c.wake()
}

// Connected tells whether a connection is up.
func (c *Client) Connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn != nil
}

// Close ends the client: everything queued or in flight fails with ErrClosed. It waits for the goroutines.
func (c *Client) Close() {
	c.stop()
	c.drop()
	<-c.finished
}

// enqueue adds a call, or refuses it and gives its buffer back.
func (c *Client) enqueue(k *call) error {
	c.mu.Lock()
	var err error
	switch {
	case c.running.Err() != nil:
		err = ErrClosed
	case k.oneWay && c.conn == nil:
		err = ErrDisconnected
	case c.queuedBytes > 0 && c.queuedBytes+len(k.request.b) > c.o.MaxQueuedBytes:
		err = ErrBusy
	default:
		k.number(c.correlation.Add(1))
		c.queued = append(c.queued, k)
		c.queuedBytes += len(k.request.b)
	}
	c.mu.Unlock()
	c.wake()
	if err != nil {
		k.request.give()
	}
	return err
}

// wake makes the goroutine look at the queue.
func (c *Client) wake() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// roundTrip queues a call and waits for its reply.
func (c *Client) roundTrip(ctx context.Context, k *call) (reply, error) {
	if err := c.enqueue(k); err != nil {
		return reply{}, err
	}
	select {
	case r := <-k.done:
		return r, r.err
	case <-ctx.Done():
	}
	if c.abandon(k) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		c.drop()
	}
	select {
	case r := <-k.done: // it came just now; nobody else will give its buffer back
		if r.err == nil {
			r.buf.give()
		}
	default:
	}
	return reply{}, ctx.Err()
}

// abandon has the reply of a call dropped, takes the call from the queue if it is there, and tells whether it is in flight.
func (c *Client) abandon(k *call) (inFlight bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.abandoned = true
	if i := slices.Index(c.queued, k); i >= 0 {
		c.queued = slices.Delete(c.queued, i, i+1)
		c.queuedBytes -= len(k.request.b)
		k.request.give()
	}
	return k.written && !k.answered
}

// drop closes the connection that is up, if any. The goroutine notices.
func (c *Client) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		_ = c.conn.Close()
	}
}
