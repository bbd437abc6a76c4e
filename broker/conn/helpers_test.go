package conn

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// patience is the time after which a test that waits has failed.
const patience = 20 * time.Second

// handlerFunc is a handler that is a function.
type handlerFunc func(req *Request) *Reply

func (f handlerFunc) Handle(req *Request) *Reply { return f(req) }

// testAPIs has private keys too: they carry opaque bytes, which makes them good for tests.
func testAPIs(t testing.TB) *wire.Set {
	t.Helper()
	s, err := wire.NewSet(kmsg.Produce, kmsg.Fetch, kmsg.Metadata, kmsg.ApiVersions, wire.KeyRaft, wire.KeyQuorum)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// echo answers a private request with its own body.
func echo(req *Request) *Reply {
	return Answer(wire.AppendResponse(nil, req.Header, wire.NewPrivateResponse(req.Header.Key, req.Body)))
}

// serve starts a server on a loopback socket and stops it at the end of the test.
func serve(t testing.TB, c Config, internal bool, h handlerFunc) (*Server, func() *client) {
	t.Helper()
	s := NewServer(c, testAPIs(t), h)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(Listener{Listener: l, Name: "TEST", Internal: internal}) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // cut off at once
		_ = s.Shutdown(ctx)
		if err := <-served; !errors.Is(err, ErrServerClosed) {
			t.Errorf("Serve: %v, want ErrServerClosed", err)
		}
		if n := s.Stats().InflightBytes; n != 0 {
			t.Errorf("%d bytes of slabs in use after the end, want 0", n)
		}
	})
	return s, func() *client {
		nc, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return newClient(t, nc)
	}
}

// client is the other end.
type client struct {
	net.Conn
	t           testing.TB
	correlation int32
}

func newClient(t testing.TB, nc net.Conn) *client {
	t.Cleanup(func() { nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(patience))
	return &client{Conn: nc, t: t}
}

// quorumFrame is a request of the private key with a response.
func quorumFrame(correlation int32, body []byte) []byte {
	return wire.AppendRequest(nil, "client", correlation, wire.NewPrivateRequest(wire.KeyQuorum, body))
}

func (c *client) send(body []byte) {
	c.t.Helper()
	c.correlation++
	c.write(quorumFrame(c.correlation, body))
}

func (c *client) write(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// receive reads one response of the private key.
func (c *client) receive() (correlation int32, body []byte) {
	c.t.Helper()
	frame, err := readFrame(c)
	if err != nil {
		c.t.Fatal(err)
	}
	return int32(binary.BigEndian.Uint32(frame)), frame[5:]
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, b)
	return b, err
}

// wantClosed reads the end of the connection, before which nothing more must come.
func (c *client) wantClosed() {
	c.t.Helper()
	n, err := c.Read(make([]byte, 1))
	if n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Errorf("read %d bytes, %v, want the connection closed", n, err)
	} else if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		c.t.Errorf("%v, want the connection closed", err)
	}
}

// wantRead fails unless something comes from the channel in time.
func wantRead[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s: nothing after %v", what, patience)
		panic("unreachable")
	}
}

// finish ends a server after everything that was read is answered: what it counts is final then.
func finish(t testing.TB, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Fatalf("the server did not end in %v", patience)
	}
}

// owner counts releases.
type owner struct {
	mu       sync.Mutex
	released int
}

func (o *owner) Release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.released++
}

func (o *owner) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.released
}
