package handler

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// pipes is a listener whose connections are made by dial, within the bubble.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.accepted <- there
	return here
}

// serve puts the handler behind a real edge whose released buffers are poisoned, and checks at the end that all came back.
func (w *world) serve() (s *conn.Server, dial func() net.Conn, stop func()) {
	l := &pipes{make(chan net.Conn), make(chan struct{})}
	s = conn.NewServer(conn.Config{PoisonReleased: true}, w.h.APIs(), w.h)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(conn.Listener{Listener: l, Name: "PLAINTEXT"}) }()
	return s, l.dial, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.Shutdown(ctx) // clients that do not read are cut off
		if err := <-ended; !errors.Is(err, conn.ErrServerClosed) {
			w.t.Error(err)
		}
		synctest.Wait()
		if n := s.Stats().InflightBytes; n != 0 {
			w.t.Errorf("%d bytes of requests were not released", n)
		}
	}
}

// frame is a request as it is on the wire.
func frame(correlation int32, req kmsg.Request) []byte {
	return wire.AppendRequest(nil, "test", correlation, req)
}

// receive reads one response.
func receive(t *testing.T, c net.Conn, req kmsg.Request, correlation int32) kmsg.Response {
	t.Helper()
	size := make([]byte, 4)
	if _, err := io.ReadFull(c, size); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint32(size))
	if _, err := io.ReadFull(c, body); err != nil {
		t.Fatal(err)
	}
	rest, err := wire.ResponseBody(wire.RequestHeader{Key: kmsg.Key(req.Key()), Version: req.GetVersion(), CorrelationID: correlation}, body)
	if err != nil {
		t.Fatal(err)
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := resp.ReadFrom(rest); err != nil {
		t.Fatal(err)
	}
	return resp
}

// TestRequestBytesLiveAsLongAsTheyAreNeeded: records of a produce that waits, in many requests at a time, are what is stored; and every
// buffer comes back once, be the request answered, refused, waiting when its client goes, or waiting when the broker stops.
func TestRequestBytesLiveAsLongAsTheyAreNeeded(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self, other))
		w.topic("__consumer_offsets", on(self))
		w.hostGroups()
		_, dial, stop := w.serve()
		c := dial()
		produce := produceTo(9, -1, batch(t, record.BuilderOptions{}, "waits"), "t")
		var all []byte
		for i := range int32(20) {
			all = append(all, frame(i, produce)...)
		}
		if _, err := c.Write(all); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		follower := fetchFrom(17, 20, "t")
		follower.ReplicaState.ID, follower.ReplicaState.Epoch = int32(other), int64(other)
		f := dial()
		if _, err := f.Write(frame(1, follower)); err != nil {
			t.Fatal(err)
		}
		receive(t, f, follower, 1)
		for i := range int32(20) {
			if p := receive(t, c, produce, i).(*kmsg.ProduceResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != int64(i) {
				t.Fatalf("%+v", p)
			}
		}
		fetch := fetchFrom(12, 0, "t")
		if _, err := c.Write(frame(7, fetch)); err != nil {
			t.Fatal(err)
		}
		rest := receive(t, c, fetch, 7).(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches
		for n := 0; n < 20; n++ {
			var b record.Batch
			var err error
			if b, rest, err = record.Next(rest); err != nil || !b.CheckCRC() || !bytes.Contains(b, []byte("waits")) {
				t.Fatalf("batch %d: %v", n, err)
			}
		}
		// What waits when its client goes: a produce, a poll, a join, a creation.
		create := kmsg.NewPtrCreateTopicsRequest()
		create.Version, create.TimeoutMillis = 7, 60_000
		for _, req := range []kmsg.Request{produce, waiting(fetchFrom(12, 21, "t"), time.Hour), waiting(fetchFrom(12, 20, "t"), time.Hour), join(0, ""), create} {
			gone, stays := dial(), dial()
			for _, c := range []net.Conn{gone, stays} {
				if _, err := c.Write(append(frame(1, req), frame(2, req)...)); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			_ = gone.Close()
		}
		refused := dial()
		if _, err := refused.Write(frame(1, produceTo(9, 0, []byte("no batch"), "t"))); err != nil {
			t.Fatal(err)
		}
		if n, err := refused.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Error("a refused produce without acks was answered")
		}
		_ = refused.Close()
		synctest.Wait()
		w.elect("t", kafka.NoNode) // produces end
		w.groups.Close()           // joins end
		stop()
	})
}

// TestAJoinThatWaitsHoldsNoRequestBytes: it may wait for minutes, and there may be thousands. What the coordinator keeps of a request
// is its own.
func TestAJoinThatWaitsHoldsNoRequestBytes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("__consumer_offsets", on(self))
		w.hostGroups()
		s, dial, stop := w.serve()
		c := dial()
		req := join(0, "")
		if _, err := c.Write(frame(1, req)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := s.Stats().InflightBytes; n != 0 {
			t.Errorf("%d bytes are held", n)
		}
		w.pass(4 * time.Second)
		joined := receive(t, c, req, 1).(*kmsg.JoinGroupResponse)
		if joined.ErrorCode != 0 || len(joined.Members) != 1 || string(joined.Members[0].ProtocolMetadata) != "subscription" {
			t.Errorf("%+v", joined)
		}
		_ = c.Close()
		w.groups.Close()
		stop()
	})
}
