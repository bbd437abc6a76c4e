package conn

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// Handler answers requests. Handle is called by the connection's reader, in the order of arrival, and must not block
// for long. It returns a reply, never nil.
type Handler interface {
	Handle(req *Request) *Reply
}

// Principal is who a connection speaks for, as Kafka writes it: type and name.
type Principal struct{ Type, Name string }

// Anonymous is the principal of a connection without authentication.
var Anonymous = Principal{"User", "ANONYMOUS"}

// Info is what is known of a connection. Its fields do not change once requests are handled.
type Info struct {
	// ID is unique within the server's life.
	ID uint64
	// Listener is the listener's name, such as PLAINTEXT or INTERNAL.
	Listener string
	// Internal: between brokers.
	Internal      bool
	Local, Remote net.Addr
	// Context ends with the connection.
	Context context.Context

	principal atomic.Pointer[Principal]
	software  atomic.Pointer[Software]
}

// Software is what a client says of itself in ApiVersions.
type Software struct{ Name, Version string }

// Principal is who the connection speaks for.
func (i *Info) Principal() Principal {
	if p := i.principal.Load(); p != nil {
		return *p
	}
	return Anonymous
}

// SetPrincipal is for authentication, before and (SASL) while requests are handled.
func (i *Info) SetPrincipal(p Principal) { i.principal.Store(&p) }

// Software is what the client said of itself, empty if it did not.
func (i *Info) Software() Software {
	if s := i.software.Load(); s != nil {
		return *s
	}
	return Software{}
}

// SetSoftware is for the handler of ApiVersions.
func (i *Info) SetSoftware(s Software) { i.software.Store(&s) }

// Request is one request. It is the handler's until Handle returns, and longer by Retain.
type Request struct {
	Header     wire.RequestHeader
	Body       []byte // see the package comment for how long
	Conn       *Info
	ReceivedAt time.Time // when its last byte was read

	slab *slab // nil when made by NewRequest
}

// NewRequest makes a request that came over no socket: for tests and for the simulation. Its body is the caller's.
func NewRequest(h wire.RequestHeader, body []byte, info *Info, receivedAt time.Time) *Request {
	return &Request{Header: h, Body: body, Conn: info, ReceivedAt: receivedAt}
}

// Retain keeps the body valid beyond the end of Handle, until a matching Release.
func (r *Request) Retain() {
	if r.slab != nil {
		r.slab.retain()
	}
}

// Release ends one Retain.
func (r *Request) Release() {
	if r.slab != nil {
		r.slab.release()
	}
}
