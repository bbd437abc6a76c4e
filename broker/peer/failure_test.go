package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// A connection that ends fails what is in flight, keeps what is queued, is reported at once, and is made again.
func TestDisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.client(Options{MaxInflight: 1})
		defer c.Close()
		flying, queued := goDo(c, t.Context(), "flying"), goDo(c, t.Context(), "queued")
		e := <-w.accept
		e.next()
		e.Close()
		if got := <-flying; !errors.Is(got.err, ErrDisconnected) {
			t.Errorf("request in flight: %v, want ErrDisconnected", got.err)
		}
		e = <-w.accept
		h, body := e.next()
		if body != "queued" {
			t.Errorf("after reconnecting: %q", body)
		}
		e.reply(h, "ok")
		if got := <-queued; got.err != nil {
			t.Errorf("queued request: %v", got.err)
		}
		if want := "[0s up 0s down 15ms up]"; fmt.Sprint(w.events) != want {
			t.Errorf("events %v, want %v", w.events, want)
		}
	})
}

func TestBackoffDoublesUpToItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.down = true
		c := w.client(Options{MinBackoff: 100 * time.Millisecond, MaxBackoff: time.Second, Jitter: func() float64 { return 0.5 }})
		defer c.Close()
		if err := c.Send(wire.NewPrivateRequest(wire.KeyRaft, nil)); !errors.Is(err, ErrDisconnected) {
			t.Errorf("Send while down: %v, want ErrDisconnected", err)
		}
		time.Sleep(3 * time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		want := "[0s 50ms 150ms 350ms 750ms 1.25s 1.75s 2.25s 2.75s]"
		if fmt.Sprint(w.dials) != want {
			t.Errorf("dials at %v, want %v", w.dials, want)
		}
	})
}

func TestDialsOnlyWhenUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.client(Options{})
		time.Sleep(time.Minute)
		c.Close()
		if len(w.dials) > 0 {
			t.Errorf("dials at %v, want none", w.dials)
		}
	})
}

// A deadline that passes while a request is in flight closes the connection; a cancelled request only loses its reply.
func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.client(Options{})
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancelled, after := goDo(c, ctx, "cancelled"), goDo(c, t.Context(), "after")
		e := <-w.accept
		h1, _ := e.next()
		h2, _ := e.next()
		cancel()
		if got := <-cancelled; !errors.Is(got.err, context.Canceled) {
			t.Errorf("cancelled: %v", got.err)
		}
		e.reply(h1, "nobody waits")
		e.reply(h2, "ok")
		if got := <-after; got.err != nil || got.body != "ok" {
			t.Errorf("the request after: %+v", got)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		late, behind := goDo(c, ctx, "late"), goDo(c, t.Context(), "behind")
		e.next()
		e.next()
		if got := <-late; !errors.Is(got.err, context.DeadlineExceeded) {
			t.Errorf("late: %v", got.err)
		}
		if got := <-behind; !errors.Is(got.err, ErrDisconnected) {
			t.Errorf("behind the late one: %v, want ErrDisconnected", got.err)
		}
		<-w.accept // and it connects again
	})
}

// A peer that takes nothing: the write times out, and the connection is made again.
func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.client(Options{WriteTimeout: 3 * time.Second})
		defer c.Close()
		call := goDo(c, t.Context(), "x")
		<-w.accept
		if got := <-call; !errors.Is(got.err, ErrDisconnected) || time.Since(w.start) != 3*time.Second {
			t.Errorf("after %v: %v, want ErrDisconnected after 3 s", time.Since(w.start), got.err)
		}
		<-w.accept
	})
}

func TestBadRepliesEndTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.client(Options{MaxReplyBytes: 100})
		defer c.Close()
		frame := func(h wire.RequestHeader, body string) []byte {
			return wire.AppendResponse(nil, h, wire.NewPrivateResponse(wire.KeyQuorum, []byte(body)))
		}
		for name, bad := range map[string]func(h wire.RequestHeader) []byte{
			"another correlation id": func(h wire.RequestHeader) []byte { h.CorrelationID++; return frame(h, "") },
			"one byte too large":     func(h wire.RequestHeader) []byte { return frame(h, string(make([]byte, 96))) },
			"a negative size":        func(wire.RequestHeader) []byte { return bytes.Repeat([]byte{0xff}, 8) },
			"size 3":                 func(wire.RequestHeader) []byte { return []byte{0, 0, 0, 3, 0, 0, 0, 0} },
			"no room for tags":       func(h wire.RequestHeader) []byte { return wire.EndFrame(frame(h, "")[:8], 0, 0) },
		} {
			call := goDo(c, t.Context(), "x")
			e := <-w.accept
			h, _ := e.next()
			_, _ = e.Write(bad(h))
			if got := <-call; !errors.Is(got.err, ErrDisconnected) {
				t.Errorf("%s: %v, want ErrDisconnected", name, got.err)
			}
		}
		call := goDo(c, t.Context(), "x")
		e := <-w.accept
		h, _ := e.next()
		e.reply(h, string(make([]byte, 95))) // exactly the limit
		if got := <-call; got.err != nil {
			t.Error(got.err)
		}
		go func() { _, _ = e.Write(frame(h, "not asked for")) }()
		<-w.accept
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.client(Options{MaxInflight: 1})
		flying, queued := goDo(c, t.Context(), "flying"), goDo(c, t.Context(), "queued")
		(<-w.accept).next()
		c.Close()
		for _, call := range []chan outcome{flying, queued} {
			if got := <-call; !errors.Is(got.err, ErrClosed) {
				t.Errorf("%v, want ErrClosed", got.err)
			}
		}
		if _, err := do(c, t.Context(), "x"); !errors.Is(err, ErrClosed) {
			t.Errorf("Do after Close: %v", err)
		}
		if want := "[0s up]"; fmt.Sprint(w.events) != want {
			t.Errorf("events %v, want %v: Close is no failure", w.events, want)
		}
	})
}

// Who knows that the other side is back need not wait for the next attempt, whose pause has grown; attempts stay MinBackoff apart.
func TestConnectCutsThePauseShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var there atomic.Bool
		var attempts atomic.Int32
		c := New(Options{
			Dial: func(context.Context) (net.Conn, error) {
				attempts.Add(1)
				if !there.Load() {
					return nil, errors.New("nobody is there")
				}
				ours, theirs := net.Pipe()
				t.Cleanup(func() { theirs.Close() })
				return ours, nil
			},
			MinBackoff: 20 * time.Millisecond, MaxBackoff: time.Hour,
		})
		defer c.Close()
		c.Connect() // the first use
		time.Sleep(30 * time.Second)
		before := attempts.Load()
		for range 1000 {
			c.Connect()
			time.Sleep(time.Millisecond)
		}
		if n := attempts.Load() - before; n < 20 || n > 70 {
			t.Errorf("%d attempts in a second, want one in 15 to 40 ms", n)
		}
		there.Store(true)
		c.Connect()
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		if !c.Connected() {
			t.Error("not connected though the other side is there")
		}
	})
}
