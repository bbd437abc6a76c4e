package conn

import (
	"cmp"
	"context"
	"net"
	"time"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// Config is the server's bounds. A zero field gets the default of [DefaultConfig].
type Config struct {
	// MaxFrameBytes bounds a request's size: socket.request.max.bytes.
	MaxFrameBytes int
	// MaxInflightBytes bounds the slabs of requests in use over all client listeners.
	MaxInflightBytes int64
	// MaxConnections bounds open connections over all client listeners: max.connections. Beyond it, accepting waits.
	MaxConnections int
	// MaxConnectionsPerIP bounds open connections from one address: max.connections.per.ip. Beyond it they are closed at once.
	MaxConnectionsPerIP int
	// ConnectionsPerIPOverrides by address in text form: max.connections.per.ip.overrides.
	ConnectionsPerIPOverrides map[string]int
	// MaxQueuedReplies bounds replies per connection that wait to be completed or written. Beyond it, reading waits.
	MaxQueuedReplies int
	// MaxIdle is how long a connection without traffic stays: connections.max.idle.ms.
	MaxIdle time.Duration
	// MaxStall is how long a request that has begun to arrive may make no progress: it holds its slab meanwhile. Client
	// listeners only.
	MaxStall time.Duration
	// MaxConcurrentSendfiles bounds sendfile calls at the same time over all connections, since a page that is not in
	// memory blocks a thread.
	MaxConcurrentSendfiles int
	// MaxHandshake bounds what Security.Secure may take.
	MaxHandshake time.Duration
	// OnClose, if not nil, is told why a connection ended before its peer ended it: a rejection, an oversize frame, a
	// handler's close, idleness, an error of the socket. Called once, on the connection's goroutine.
	OnClose func(info *Info, cause error)
	// PoisonReleased overwrites request bodies after their last release and checks that nobody writes to them: for tests.
	PoisonReleased bool
}

// DefaultConfig is Kafka's defaults where Kafka has the setting.
func DefaultConfig() Config {
	return Config{
		MaxFrameBytes:          100 << 20,
		MaxInflightBytes:       512 << 20,
		MaxConnections:         1<<31 - 1,
		MaxConnectionsPerIP:    1<<31 - 1,
		MaxQueuedReplies:       128,
		MaxIdle:                10 * time.Minute,
		MaxStall:               30 * time.Second,
		MaxConcurrentSendfiles: 64,
		MaxHandshake:           10 * time.Second,
	}
}

// withDefaults fills in the fields that are zero.
func (c Config) withDefaults() Config {
	d := DefaultConfig()
	c.MaxFrameBytes = cmp.Or(c.MaxFrameBytes, d.MaxFrameBytes)
	c.MaxInflightBytes = cmp.Or(c.MaxInflightBytes, d.MaxInflightBytes)
	c.MaxConnections = cmp.Or(c.MaxConnections, d.MaxConnections)
	c.MaxConnectionsPerIP = cmp.Or(c.MaxConnectionsPerIP, d.MaxConnectionsPerIP)
	c.MaxQueuedReplies = cmp.Or(c.MaxQueuedReplies, d.MaxQueuedReplies)
	c.MaxIdle = cmp.Or(c.MaxIdle, d.MaxIdle)
	c.MaxStall = cmp.Or(c.MaxStall, d.MaxStall)
	c.MaxConcurrentSendfiles = cmp.Or(c.MaxConcurrentSendfiles, d.MaxConcurrentSendfiles)
	c.MaxHandshake = cmp.Or(c.MaxHandshake, d.MaxHandshake)
	return c
}

// Listener is one socket that the server accepts from.
type Listener struct {
	net.Listener
	Name string
	// Internal: between brokers. Internal APIs exist there, and the bounds on connections and in-flight bytes do not.
	Internal bool
	// Security is nil for plaintext.
	Security Security
}

// Security is what TLS and SASL put in front of a listener's requests.
type Security interface {
	// Secure makes the connection that requests are read from, before the first byte of a request, and may set the principal. The
	// context bounds it in time. It is called on the connection's own goroutine.
	Secure(ctx context.Context, c net.Conn, info *Info) (net.Conn, error)
	// Admit tells whether a request may be handled now; an error closes the connection (SASL: what comes before authentication).
	Admit(info *Info, h wire.RequestHeader) error
}
