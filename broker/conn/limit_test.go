package conn

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// holding keeps every request until the test releases it.
func holding() (handlerFunc, chan *Request) {
	held := make(chan *Request, 100)
	return func(req *Request) *Reply {
		req.Retain()
		held <- req
		return None()
	}, held
}

func metadata(n int) []byte {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 1
	for range n {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr("topic")
		req.Topics = append(req.Topics, t)
	}
	return wire.AppendRequest(nil, "c", 1, req)
}

// The bound on in-flight bytes holds back reading, on any connection, until requests are released.
func TestInflightBytesHoldBackReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler, held := holding()
		const slab = 1 << 10 // the smallest
		s, l, stop := serveInBubble(t, Config{MaxInflightBytes: 3 * slab, PoisonReleased: true}, false, handler)
		defer stop()
		a, b := &client{Conn: l.dial(), t: t}, &client{Conn: l.dial(), t: t}
		for range 3 {
			a.write(metadata(1))
		}
		var requests []*Request
		for range 3 {
			requests = append(requests, <-held)
		}
		b.write(metadata(1)) // its size is read, and the rest with it
		synctest.Wait()
		if got := s.Stats(); len(held) != 0 || got.InflightBytes != 3*slab || got.WaitedForInflight != 1 {
			t.Errorf("%d requests beyond the bound, %d bytes in flight, %d readers waited", len(held), got.InflightBytes, got.WaitedForInflight)
		}
		requests[1].Release()
		requests = append(requests, <-held)
		requests[0].Release()
		requests[2].Release()
		requests[3].Release()
		// A request larger than the whole bound still passes, alone.
		go b.write(metadata(1000))
		(<-held).Release()
		synctest.Wait()
		if n := s.Stats().InflightBytes; n != 0 {
			t.Errorf("%d bytes in flight at the end", n)
		}
	})
}

// A follower's fetch must pass while produces hold every slab, since only it lets them complete.
func TestInternalListenersAreOutsideTheBound(t *testing.T) {
	handler, held := holding()
	_, dial := serve(t, Config{MaxInflightBytes: 1}, true, handler)
	c := dial()
	for range 10 {
		c.write(metadata(1))
	}
	for range 10 {
		defer wantRead(t, held, "request").Release()
	}
}

func TestReleasedTooOftenPanics(t *testing.T) {
	var pool slabPool
	for name, f := range map[string]func(*slab){
		"release": func(s *slab) { s.release() },
		"retain":  func(s *slab) { s.retain() },
	} {
		s := pool.take(10, nil, 0)
		s.release()
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s after the last release: no panic", name)
				}
			}()
			f(s)
		}()
	}
}

// KAFKA-19012: a buffer used after it was given back put records into the wrong topic. Released slabs are poisoned in tests.
func TestUseAfterReleaseIsNoticed(t *testing.T) {
	pool := slabPool{poison: true}
	s := pool.take(100, nil, 0)
	copy(s.buf, "records")
	body := s.buf
	s.release()
	if body[0] != poisonByte {
		t.Error("a read after the release still sees the records")
	}
	body[5] = 1
	defer func() {
		if recover() == nil {
			t.Error("a write after the release was not noticed")
		}
	}()
	for range 100 { // the pool may drop what it was given, as it does under the race detector
		pool.classes[0].Put(s)
		pool.take(100, nil, 0)
	}
}

func TestSlabClasses(t *testing.T) {
	last := -1
	for n := 1; n < 1<<maxSlabShift; n += 1 + n/97 {
		class, size := slabClass(n)
		if size < n || n > 1<<minSlabShift && size > n+n/4 || class < last || class >= slabClasses {
			t.Fatalf("%d bytes: class %d of %d bytes", n, class, size)
		}
		if again, same := slabClass(size); again != class || same != size {
			t.Fatalf("class %d of %d bytes: its size is of class %d", class, size, again)
		}
		last = class
	}
	if class, size := slabClass(1<<maxSlabShift + 1); class != -1 || size != 1<<maxSlabShift+1 {
		t.Errorf("beyond the largest: class %d of %d bytes", class, size)
	}
}

func TestConnectionsPerAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Pipes have no address: to the server they are all of one.
		s, l, stop := serveInBubble(t, Config{MaxConnectionsPerIP: 2, ConnectionsPerIPOverrides: map[string]int{"10.0.0.1": 7}}, false, echo)
		defer stop()
		open := func(refused uint64, n int64) {
			t.Helper()
			synctest.Wait()
			if got := s.Stats(); got.RefusedPerIP != refused || got.Open != n {
				t.Errorf("%d refused, %d open, want %d and %d", got.RefusedPerIP, got.Open, refused, n)
			}
		}
		a, b := l.dial(), l.dial()
		open(0, 2)
		if _, err := l.dial().Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("a third connection: %v, want it closed", err)
		}
		open(1, 2)
		a.Close()
		open(1, 1)
		c := l.dial()
		open(1, 2)
		b.Close()
		c.Close()
		open(1, 0)
	})
}

func TestConnectionsBeyondTheBoundWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l, stop := serveInBubble(t, Config{MaxConnections: 1}, false, func(req *Request) *Reply {
			return Answer(wire.AppendResponse(nil, req.Header, kmsg.NewPtrMetadataResponse()))
		})
		defer stop()
		a := l.dial()
		b := l.dial()
		synctest.Wait()
		if got := s.Stats(); got.WaitedForConnection != 1 || got.Open != 1 {
			t.Errorf("accepting waited %d times, %d are open, want 1 and 1", got.WaitedForConnection, got.Open)
		}
		a.Close()
		if _, err := b.Write(metadata(1)); err != nil {
			t.Fatal(err)
		}
		if _, err := readFrame(b); err != nil {
			t.Errorf("the second is not served after the first has left: %v", err)
		}
	})
}

// The queue of replies is bounded: requests beyond it are not read while the first is pending.
func TestQueuedRepliesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bound = 1 + 4 + 1 // one is awaited by the writer, four are in the queue, one is in the reader's hand
		handled := make(chan *Reply, 1000)
		_, l, stop := serveInBubble(t, Config{MaxQueuedReplies: 4}, true, func(req *Request) *Reply {
			r := Pending()
			handled <- r
			return r
		})
		defer stop()
		c := &client{Conn: l.dial(), t: t}
		go func() {
			for range 100 {
				c.send(nil)
			}
		}()
		for left := 100; left > 0; left-- {
			synctest.Wait()
			if n := len(handled); n != min(left, bound) {
				t.Fatalf("%d requests are handled while %d are left, want %d", n, left, min(left, bound))
			}
			(<-handled).CompleteNone()
		}
	})
}

// serveInBubble starts a server on pipes within a synctest bubble: idleness and throttling by a clock that does not exist.
func serveInBubble(t *testing.T, c Config, internal bool, h handlerFunc) (*Server, *pipeListener, func()) {
	l := newPipeListener()
	s := NewServer(c, testAPIs(t), h)
	served := make(chan error, 1)
	go func() { served <- s.Serve(Listener{Listener: l, Internal: internal}) }()
	return s, l, func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(ctx)
		<-served
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pending := make(chan *Reply, 1)
		s, l, stop := serveInBubble(t, Config{MaxIdle: 10 * time.Minute}, true, func(req *Request) *Reply {
			if string(req.Body) == "wait" {
				r := Pending()
				pending <- r
				return r
			}
			return echo(req)
		})
		defer stop()
		idle, busy, waits := l.dial(), &client{Conn: l.dial(), t: t}, &client{Conn: l.dial(), t: t}
		waits.send([]byte("wait"))
		r := <-pending
		for range 5 {
			time.Sleep(3 * time.Minute)
			busy.send([]byte("x"))
			busy.receive()
		}
		if got := s.Stats(); got.ClosedIdle != 1 || got.Open != 2 {
			t.Errorf("after 15 minutes: %d closed as idle, %d open, want 1 and 2", got.ClosedIdle, got.Open)
		}
		if _, err := idle.Read(make([]byte, 1)); err == nil {
			t.Error("the idle connection is open")
		}
		// One that waits for the broker is not idle.
		r.CompleteFrame(quorumFrame(1, nil))
		waits.receive()
		time.Sleep(12 * time.Minute)
		synctest.Wait()
		if got := s.Stats(); got.ClosedIdle != 3 || got.Open != 0 {
			t.Errorf("after 12 minutes more: %d closed as idle, %d open, want 3 and 0", got.ClosedIdle, got.Open)
		}
	})
}

// A client that reads nothing of its reply is idle too.
func TestStuckWriterIsClosedAsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l, stop := serveInBubble(t, Config{MaxIdle: time.Minute}, true, echo)
		defer stop()
		c := &client{Conn: l.dial(), t: t}
		c.send([]byte("x"))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := s.Stats(); got.ClosedIdle != 1 || got.Open != 0 {
			t.Errorf("%d closed as idle, %d open, want 1 and 0", got.ClosedIdle, got.Open)
		}
	})
}

// A client that reads slowly is not: what counts is progress, not the end of the reply.
func TestSlowReaderIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const parts = 20
		file := memFile{bytes.NewReader(make([]byte, parts*bufferBytes))}
		s, l, stop := serveInBubble(t, Config{MaxIdle: time.Minute}, true, func(req *Request) *Reply {
			head := wire.EndFrame(wire.AppendResponseHeader(nil, req.Header), 0, parts*bufferBytes)
			return AnswerChunks([]Chunk{{Bytes: head}, {File: file, Len: parts * bufferBytes}})
		})
		defer stop()
		c := &client{Conn: l.dial(), t: t}
		c.send(nil)
		part := make([]byte, bufferBytes)
		for i := range parts {
			time.Sleep(20 * time.Second)
			if _, err := io.ReadFull(c, part); err != nil {
				t.Fatalf("part %d: %v; %d closed as idle", i, err, s.Stats().ClosedIdle)
			}
		}
	})
}

// A request that stops arriving holds a slab, so it gets less time than an idle connection; a slow one is fine.
func TestStalledRequestIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		s := NewServer(Config{MaxIdle: time.Hour, MaxStall: 30 * time.Second}, testAPIs(t), handlerFunc(func(*Request) *Reply { return None() }))
		served := make(chan error, 1)
		go func() { served <- s.Serve(Listener{Listener: l}) }()
		defer func() { _ = s.Shutdown(t.Context()); <-served }()
		slow, stalled, idle := l.dial(), l.dial(), l.dial()
		frame := metadata(1)
		_, _ = stalled.Write(frame[:10])
		for _, b := range frame {
			_, _ = slow.Write([]byte{b})
			time.Sleep(20 * time.Second)
		}
		if got := s.Stats(); got.ClosedStalled != 1 || got.Requests != 1 || got.Open != 2 || got.InflightBytes != 0 {
			t.Errorf("stats %+v, want one closed as stalled and the slow request handled", got)
		}
		slow.Close()
		idle.Close()
	})
}

// A throttled reply goes out at once, and the next request is handled no sooner than it says.
func TestThrottleMutesTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l, stop := serveInBubble(t, Config{}, true, func(req *Request) *Reply { return echo(req).Throttle(5 * time.Second) })
		defer stop()
		c := &client{Conn: l.dial(), t: t}
		start := time.Now()
		for i := range 3 {
			c.send([]byte("x"))
			c.receive()
			if got, want := time.Since(start), time.Duration(i)*5*time.Second; got != want {
				t.Errorf("reply %d after %v, want %v", i, got, want)
			}
		}
		c.send([]byte("x"))
		synctest.Wait()
		if got := s.Stats().Muted; got != 1 {
			t.Errorf("%d connections muted, want 1", got)
		}
	})
}

// Accepting survives errors such as no descriptors left.
func TestAcceptErrorsAreWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &failingListener{pipeListener: newPipeListener(), failures: 12}
		s := NewServer(Config{}, testAPIs(t), handlerFunc(echo))
		served := make(chan error, 1)
		go func() { served <- s.Serve(Listener{Listener: l, Internal: true}) }()
		c := &client{Conn: l.dial(), t: t}
		c.send([]byte("x"))
		c.receive()
		if got := s.Stats().AcceptErrors; got != 12 {
			t.Errorf("%d errors of accepting, want 12", got)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(ctx)
		<-served
	})
}

type failingListener struct {
	*pipeListener
	failures int
}

func (l *failingListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, &net.OpError{Op: "accept", Err: context.DeadlineExceeded}
	}
	return l.pipeListener.Accept()
}
