package conn

import (
	"bytes"
	"testing"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// One small response: one system call; many that are complete together: far fewer than one each.
func TestSmallResponsesNeedFewWrites(t *testing.T) {
	s, dial := serve(t, Config{}, true, echo)
	c := dial()
	for range 20 {
		c.send([]byte("x"))
		c.receive()
	}
	if got := s.Stats(); got.WriteCalls != 20 || got.ReadCalls != 20 {
		t.Errorf("20 requests one at a time: %d reads and %d writes, want 20 and 20", got.ReadCalls, got.WriteCalls)
	}
}

// A pipelining producer of small frames: one read takes many.
func TestPipelinedSmallFramesNeedFewReads(t *testing.T) {
	const n = 1000
	left, all := n, make(chan struct{})
	s, dial := serve(t, Config{}, true, func(*Request) *Reply {
		if left--; left == 0 {
			close(all)
		}
		return None()
	})
	c := dial()
	c.write(bytes.Repeat(quorumFrame(1, make([]byte, 100)), n))
	wantRead(t, all, "all requests")
	if got := s.Stats().ReadCalls; got > n/20 {
		t.Errorf("%d reads for %d small frames, want at most %d", got, n, n/20)
	}
}

// Replies that come while others are due are written together.
func TestRepliesCompleteTogetherAreWrittenTogether(t *testing.T) {
	const n = 50
	first := make(chan *Reply, 1)
	handled := 0
	all := make(chan struct{})
	var header wire.RequestHeader
	s, dial := serve(t, Config{}, true, func(req *Request) *Reply {
		if handled++; handled == n {
			close(all)
		}
		if handled > 1 {
			return echo(req)
		}
		header = req.Header
		r := Pending()
		first <- r
		return r
	})
	c := dial()
	for range n {
		c.send([]byte("x"))
	}
	wantRead(t, all, "all requests")
	(<-first).CompleteFrame(wire.AppendResponse(nil, header, wire.NewPrivateResponse(wire.KeyQuorum, []byte("x"))))
	for i := range n {
		if corr, _ := c.receive(); corr != int32(i+1) {
			t.Fatalf("reply %d has correlation id %d", i, corr)
		}
	}
	// The last may be put into the queue while the writer is at work.
	finish(t, s)
	if got := s.Stats(); got.WriteCalls > 3 || got.Replies != n {
		t.Errorf("%d writes for %d replies, want at most 3 for %d that were due together", got.WriteCalls, got.Replies, n)
	}
}
