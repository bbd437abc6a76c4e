package conn

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// Replies go out in the order of requests, whatever the order of completion.
func TestRepliesKeepTheOrderOfRequests(t *testing.T) {
	const n = 100
	handled := make(chan *Reply, n)
	headers := make(chan wire.RequestHeader, n)
	_, dial := serve(t, Config{PoisonReleased: true}, true, func(req *Request) *Reply {
		r := Pending()
		headers <- req.Header
		handled <- r
		return r
	})
	c := dial()
	var replies []*Reply
	var hs []wire.RequestHeader
	for i := range n {
		c.send([]byte{byte(i)})
	}
	for range n {
		replies, hs = append(replies, wantRead(t, handled, "request")), append(hs, <-headers)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(n) {
		go replies[i].CompleteFrame(wire.AppendResponse(nil, hs[i], wire.NewPrivateResponse(wire.KeyQuorum, []byte{byte(i)})))
	}
	for i := range n {
		if corr, body := c.receive(); corr != int32(i+1) || len(body) != 1 || body[0] != byte(i) {
			t.Fatalf("reply %d: correlation id %d, body % x", i, corr, body)
		}
	}
}

func TestFramesOfEverySizeArriveWhole(t *testing.T) {
	_, dial := serve(t, Config{PoisonReleased: true}, true, echo)
	c := dial()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	var bodies [][]byte
	var stream []byte
	for i := range 400 {
		n := []int{rnd.IntN(10), rnd.IntN(3000), largeFrame - 40 + rnd.IntN(80), rnd.IntN(200_000)}[rnd.IntN(4)]
		b := bytes.Repeat([]byte{byte(i)}, n)
		bodies = append(bodies, b)
		stream = append(stream, quorumFrame(int32(i), b)...)
	}
	go func() { // in pieces that respect no frame
		for len(stream) > 0 {
			n := min(len(stream), 1+rnd.IntN([]int{5, 100, 70_000}[rnd.IntN(3)]))
			_, _ = c.Write(stream[:n])
			stream = stream[n:]
		}
	}()
	for i, want := range bodies {
		if corr, body := c.receive(); corr != int32(i) || !bytes.Equal(body, want) {
			t.Fatalf("frame %d: correlation id %d, %d bytes, want %d", i, corr, len(body), len(want))
		}
	}
}

// kafka-observed.md: an unknown key, a version out of range, a removed key close the connection; ApiVersions alone answers 35.
func TestWhatIsNotServedClosesTheConnection(t *testing.T) {
	s, dial := serve(t, Config{}, false, func(req *Request) *Reply {
		return Answer(wire.AppendResponse(nil, req.Header, kmsg.NewPtrApiVersionsResponse()))
	})
	frame := func(key kmsg.Key, version int16) []byte {
		b := []byte{0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff}
		binary.BigEndian.PutUint16(b[4:], uint16(key))
		binary.BigEndian.PutUint16(b[6:], uint16(version))
		return b
	}
	for i, b := range [][]byte{frame(3, 99), frame(3, -1), frame(1, 3), frame(0, 2), frame(12345, 0), frame(6, 8), frame(2, 1),
		frame(wire.KeyQuorum, 0), {0, 0, 0, 0}, {0, 0, 0, 3, 1, 2, 3}} {
		c := dial()
		c.write(b)
		c.wantClosed()
		if got := s.Stats().ClosedRejected; got != uint64(i+1) {
			t.Errorf("frame % x: %d connections closed as rejected, want %d", b, got, i+1)
		}
	}
	c := dial()
	c.write(frame(18, 99))
	want := wire.AppendUnsupportedVersion(nil, wire.RequestHeader{Key: 18, Version: 99, CorrelationID: 1})
	if got, err := readFrame(c); err != nil || !bytes.Equal(got, want[4:]) {
		t.Errorf("ApiVersions 99: % x, %v, want % x", got, err, want[4:])
	}
	c.write(frame(18, 0)) // and the connection goes on
	if _, err := readFrame(c); err != nil {
		t.Error(err)
	}
	if got := s.Stats(); got.ClosedByHandler != 0 || got.Requests != 1 {
		t.Errorf("stats %+v", got)
	}
}

func TestOversizeFrameClosesBeforeAnythingIsRead(t *testing.T) {
	s, dial := serve(t, Config{MaxFrameBytes: 1000, PoisonReleased: true}, true, echo)
	for i, size := range []uint32{1001, 0x7fffffff, 0x80000000, 0xffffffff} {
		c := dial()
		c.write(binary.BigEndian.AppendUint32(nil, size))
		c.wantClosed()
		if got := s.Stats(); got.ClosedOversize != uint64(i+1) || got.InflightBytes != 0 {
			t.Errorf("size %d: %d closed as oversize, %d bytes in slabs, want %d and 0", size, got.ClosedOversize, got.InflightBytes, i+1)
		}
	}
	c := dial()
	empty := len(quorumFrame(0, nil)) - 4
	c.send(make([]byte, 1000-empty)) // exactly the limit
	if _, body := c.receive(); len(body) != 1000-empty {
		t.Errorf("body of %d bytes", len(body))
	}
}

// A reply that closes: what was due before is written, what comes after is not read.
func TestCloseReplyComesAfterThoseBefore(t *testing.T) {
	first := make(chan *Reply, 1)
	var header wire.RequestHeader
	_, dial := serve(t, Config{}, true, func(req *Request) *Reply {
		switch string(req.Body) {
		case "wait":
			r := Pending()
			header = req.Header
			first <- r
			return r
		case "none":
			return None()
		case "close":
			return Close(errors.New("test"))
		}
		t.Errorf("a request after the close was handled")
		return None()
	})
	for range 20 {
		c := dial()
		for _, b := range []string{"wait", "none", "close"} {
			c.send([]byte(b))
		}
		r := wantRead(t, first, "first request")
		r.CompleteFrame(wire.AppendResponse(nil, header, wire.NewPrivateResponse(wire.KeyQuorum, []byte("answer"))))
		if _, body := c.receive(); string(body) != "answer" {
			t.Errorf("body %q", body)
		}
		c.wantClosed()
	}
}

func TestPendingReplyMayClose(t *testing.T) {
	s, dial := serve(t, Config{}, true, func(req *Request) *Reply {
		r := Pending()
		go r.CompleteClose(fmt.Errorf("acks=0 produce failed"))
		return r
	})
	c := dial()
	c.send(nil)
	c.wantClosed()
	finish(t, s)
	if got := s.Stats().ClosedByHandler; got != 1 {
		t.Errorf("%d closed by the handler, want 1", got)
	}
}

// A client that has closed its sending half still gets its replies.
func TestHalfClosedClientGetsItsReplies(t *testing.T) {
	pending := make(chan *Request, 1)
	replies := make(chan *Reply, 1)
	_, dial := serve(t, Config{}, true, func(req *Request) *Reply {
		r := Pending()
		req.Retain()
		pending <- req
		replies <- r
		return r
	})
	c := dial()
	c.send([]byte("x"))
	req := wantRead(t, pending, "request")
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	wantRead(t, req.Conn.Context.Done(), "context of the connection")
	(<-replies).CompleteFrame(wire.AppendResponse(nil, req.Header, wire.NewPrivateResponse(wire.KeyQuorum, req.Body)))
	req.Release()
	if _, body := c.receive(); string(body) != "x" {
		t.Errorf("body %q", body)
	}
	c.wantClosed()
}

func TestShutdownLetsPendingRepliesFinish(t *testing.T) {
	pending := make(chan *Request, 10)
	replies := make(chan *Reply, 10)
	s, dial := serve(t, Config{PoisonReleased: true}, false, func(req *Request) *Reply {
		r := Pending()
		pending <- req
		replies <- r
		return r
	})
	busy, idle := dial(), dial()
	h := kmsg.NewPtrMetadataRequest()
	busy.write(wire.AppendRequest(nil, "c", 1, h))
	busy.write(wire.AppendRequest(nil, "c", 2, h))
	req := wantRead(t, pending, "first request")
	wantRead(t, pending, "second request")
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }()
	idle.wantClosed()
	busy.write(wire.AppendRequest(nil, "c", 3, h)) // comes too late
	for r := range replies {
		r.CompleteFrame(wire.AppendResponse(nil, req.Header, kmsg.NewPtrMetadataResponse()))
		if _, err := readFrame(busy); err != nil {
			t.Fatal(err)
		}
		if len(replies) == 0 {
			break
		}
	}
	busy.wantClosed()
	if err := wantRead(t, done, "Shutdown"); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := s.Serve(Listener{Listener: closedListener{}}); !errors.Is(err, ErrServerClosed) {
		t.Errorf("Serve after Shutdown: %v", err)
	}
}

type closedListener struct{ net.Listener }

func (closedListener) Close() error { return nil }

func TestShutdownCutsOffWhatNeverCompletes(t *testing.T) {
	handled := make(chan *Reply, 1)
	s, dial := serve(t, Config{}, true, func(req *Request) *Reply {
		r := Pending()
		handled <- r
		return r
	})
	c := dial()
	c.send(nil)
	r := wantRead(t, handled, "request")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(ctx) }()
	cancel()
	if err := wantRead(t, done, "Shutdown"); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v, want the context's error", err)
	}
	c.wantClosed()
	// What completes now is freed all the same.
	var o owner
	r.Complete(Chunk{Bytes: []byte("late"), Owner: &o})
	if o.count() != 1 {
		t.Errorf("released %d times, want once", o.count())
	}
}

// The edge can log why a connection ended, unless its peer simply left.
func TestOnCloseTellsWhy(t *testing.T) {
	causes := make(chan error, 10)
	_, dial := serve(t, Config{MaxFrameBytes: 100, OnClose: func(_ *Info, cause error) { causes <- cause }}, true, func(*Request) *Reply {
		return Close(errors.ErrUnsupported)
	})
	dial().Close()
	c := dial()
	c.write([]byte{0, 0, 0, 101})
	if err := wantRead(t, causes, "oversize"); !errors.Is(err, errOversize) {
		t.Errorf("%v", err)
	}
	c = dial()
	c.write([]byte{0, 0, 0, 1, 0})
	if r := (*wire.Rejection)(nil); !errors.As(wantRead(t, causes, "malformed"), &r) || r.Reason != wire.Malformed {
		t.Errorf("%v", r)
	}
	c = dial()
	c.send(nil)
	if err := wantRead(t, causes, "closed by the handler"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	c = dial()
	c.write([]byte{0, 0})
	c.Close()
	if err := wantRead(t, causes, "cut off within a frame"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}
