package peer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// world is the other broker, over pipes within a synctest bubble: nothing takes time but what the test lets.
type world struct {
	t      *testing.T
	mu     sync.Mutex
	down   bool
	dials  []time.Duration // since the start
	start  time.Time
	accept chan *end
	events []string
}

// end is the broker's end of one connection.
type end struct {
	net.Conn
	t *testing.T
}

func newWorld(t *testing.T) *world {
	return &world{t: t, start: time.Now(), accept: make(chan *end, 100)}
}

func (w *world) client(o Options) *Client {
	o.Dial = func(context.Context) (net.Conn, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.dials = append(w.dials, time.Since(w.start))
		if w.down {
			return nil, errors.New("refused")
		}
		a, b := net.Pipe()
		w.accept <- &end{b, w.t}
		return a, nil
	}
	o.ClientID = "broker-1"
	o.OnUp = func() { w.event("up") }
	o.OnDown = func(error) { w.event("down") }
	return New(o)
}

func (w *world) event(e string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, fmt.Sprintf("%v %s", time.Since(w.start), e))
}

// next reads a request.
func (e *end) next() (h wire.RequestHeader, body string) {
	e.t.Helper()
	var size [4]byte
	if _, err := io.ReadFull(e, size[:]); err != nil {
		e.t.Fatal(err)
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(e, frame); err != nil {
		e.t.Fatal(err)
	}
	s, err := wire.NewSet(wire.KeyRaft, wire.KeyQuorum, kmsg.Metadata)
	if err != nil {
		e.t.Fatal(err)
	}
	h, b, err := s.ParseRequest(frame, wire.Internal, "")
	if err != nil || h.ClientID != "broker-1" {
		e.t.Fatalf("%v, client id %q", err, h.ClientID)
	}
	return h, string(b)
}

func (e *end) reply(h wire.RequestHeader, body string) {
	e.t.Helper()
	if _, err := e.Write(wire.AppendResponse(nil, h, wire.NewPrivateResponse(wire.KeyQuorum, []byte(body)))); err != nil {
		e.t.Fatal(err)
	}
}

func do(c *Client, ctx context.Context, body string) (string, error) {
	resp, release, err := c.Do(ctx, wire.NewPrivateRequest(wire.KeyQuorum, []byte(body)))
	if err != nil {
		return "", err
	}
	defer release()
	return string(resp.(*wire.PrivateResponse).Data), nil
}

// outcome is what a Do in another goroutine gave.
type outcome struct {
	body string
	err  error
}

func goDo(c *Client, ctx context.Context, body string) chan outcome {
	done := make(chan outcome, 1)
	go func() {
		b, err := do(c, ctx, body)
		done <- outcome{b, err}
	}()
	synctest.Wait()
	return done
}

func TestRequestsArePipelined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.client(Options{})
		defer c.Close()
		var calls []chan outcome
		for i := range 10 {
			calls = append(calls, goDo(c, t.Context(), fmt.Sprint("request ", i)))
		}
		e := <-w.accept
		var hs []wire.RequestHeader
		for i := range 10 {
			h, body := e.next()
			if body != fmt.Sprint("request ", i) {
				t.Errorf("request %d: %q", i, body)
			}
			hs = append(hs, h)
		}
		for i, h := range hs {
			e.reply(h, fmt.Sprint("reply ", i))
			if got := <-calls[i]; got.err != nil || got.body != fmt.Sprint("reply ", i) {
				t.Errorf("reply %d: %q, %v", i, got.body, got.err)
			}
		}
	})
}

func TestInflightIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.client(Options{MaxInflight: 2})
		defer c.Close()
		var calls []chan outcome
		for range 3 {
			calls = append(calls, goDo(c, t.Context(), "x"))
		}
		e := <-w.accept
		h1, _ := e.next()
		e.next()
		_ = e.SetReadDeadline(time.Now().Add(time.Second))
		if n, _ := e.Read(make([]byte, 1)); n > 0 {
			t.Errorf("a third request was written before a reply")
		}
		_ = e.SetReadDeadline(time.Time{})
		e.reply(h1, "1")
		<-calls[0]
		e.next()
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.down = true
		c := w.client(Options{MaxQueuedBytes: 250})
		defer c.Close()
		body := string(make([]byte, 100))
		ctx, cancel := context.WithCancel(t.Context())
		a, b := goDo(c, ctx, body), goDo(c, ctx, body)
		if _, err := do(c, t.Context(), body); !errors.Is(err, ErrBusy) {
			t.Errorf("third request: %v, want ErrBusy", err)
		}
		// Whoever gives up leaves the queue.
		cancel()
		for _, call := range []chan outcome{a, b} {
			if got := <-call; !errors.Is(got.err, context.Canceled) {
				t.Errorf("cancelled request: %v", got.err)
			}
		}
		big := goDo(c, t.Context(), string(make([]byte, 1000))) // alone, it may be larger than the bound
		w.mu.Lock()
		w.down = false
		w.mu.Unlock()
		e := <-w.accept
		h, _ := e.next()
		e.reply(h, "ok")
		if got := <-big; got.err != nil {
			t.Error(got.err)
		}
	})
}

func TestSendIsOneWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.client(Options{})
		defer c.Close()
		_ = c.Send(wire.NewPrivateRequest(wire.KeyRaft, []byte("lost"))) // makes it dial
		e := <-w.accept
		synctest.Wait()
		if !c.Connected() {
			t.Error("not connected")
		}
		for i := range 3 {
			if err := c.Send(wire.NewPrivateRequest(wire.KeyRaft, fmt.Append(nil, i))); err != nil {
				t.Error(err)
			}
		}
		call := goDo(c, t.Context(), "two-way")
		for i := range 3 {
			if h, body := e.next(); h.Key != wire.KeyRaft || body != fmt.Sprint(i) {
				t.Errorf("message %d: key %d, %q", i, h.Key, body)
			}
		}
		h, _ := e.next()
		e.reply(h, "ok")
		if got := <-call; got.err != nil {
			t.Error(got.err)
		}
	})
}

// The hello goes first on every connection, before what was queued for it.
func TestHelloGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.client(Options{Hello: func() kmsg.Request { return wire.NewPrivateRequest(wire.KeyRaft, []byte("for broker 2")) }})
		defer c.Close()
		for range 3 {
			call := goDo(c, t.Context(), "queued")
			e := <-w.accept
			if h, body := e.next(); h.Key != wire.KeyRaft || body != "for broker 2" {
				t.Errorf("first on a connection: key %d, %q", h.Key, body)
			}
			h, body := e.next()
			if body != "queued" {
				t.Errorf("second: %q", body)
			}
			e.reply(h, "ok")
			if got := <-call; got.err != nil {
				t.Error(got.err)
			}
			e.Close()
			synctest.Wait()
		}
	})
}

// Replies of every size over a real socket, by both ways of asking, and the response's views are valid until released.
func TestRealSocket(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		e := &end{nc, t}
		for range 60 {
			h, body := e.next()
			e.reply(h, body)
		}
	}()
	c := New(Options{Dial: DialTCP(l.Addr().String()), ClientID: "broker-1"})
	defer c.Close()
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			want := bytes.Repeat([]byte{byte(i)}, i*i*i*100)
			resp, release, err := c.Do(t.Context(), wire.NewPrivateRequest(wire.KeyQuorum, want))
			if err != nil {
				t.Error(err)
				return
			}
			raw, releaseRaw, err := c.DoRaw(t.Context(), wire.KeyQuorum, 0, want)
			if err != nil {
				t.Error(err)
				return
			}
			if !bytes.Equal(raw, want) || !bytes.Equal(resp.(*wire.PrivateResponse).Data, want) {
				t.Errorf("%d bytes: the reply differs", len(want))
			}
			release()
			releaseRaw()
		})
	}
	wg.Wait()
}
