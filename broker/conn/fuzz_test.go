package conn

import (
	"context"
	"encoding/binary"
	"io"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// Any bytes from a client: each whole frame that is served is handled once, in order and with its bytes; the first that is
// not ends the connection; nothing is left in use.
func FuzzStream(f *testing.F) {
	f.Add([]byte{}, uint8(1))
	f.Add([]byte{0, 0, 0, 3, 1, 2, 3, 9, 9}, uint8(2))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, uint8(4))
	stream := quorumFrame(1, []byte("one"))
	stream = append(stream, quorumFrame(2, make([]byte, 3000))...)
	stream = append(stream, wire.AppendRequest(nil, "c", 3, kmsg.NewPtrMetadataRequest())...)
	f.Add(append(stream, 0, 0, 1), uint8(100))
	f.Fuzz(func(t *testing.T, stream []byte, piece uint8) {
		apis := testAPIs(t)
		want := servedFrames(apis, stream)
		var got []string
		s := NewServer(Config{MaxFrameBytes: fuzzMaxFrame, PoisonReleased: true}, apis, handlerFunc(func(req *Request) *Reply {
			got = append(got, string(req.Body))
			return None()
		}))
		l := newPipeListener()
		served := make(chan error, 1)
		go func() { served <- s.Serve(Listener{Listener: l, Internal: true}) }()
		c := l.dial()
		go func() { _, _ = io.Copy(io.Discard, c) }() // answers to unknown versions of ApiVersions
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), int(piece)+1)
			if _, err := c.Write(rest[:n]); err != nil {
				break
			}
			rest = rest[n:]
		}
		_ = c.Close()
		for s.Stats().Open > 0 { // everything that was written is read
			runtime.Gosched()
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		<-served
		if n := s.Stats().InflightBytes; n != 0 {
			t.Fatalf("%d bytes in use", n)
		}
		if len(got) != len(want) {
			t.Fatalf("%d requests handled, want %d", len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("request %d: body of %d bytes, want %d", i, len(got[i]), len(want[i]))
			}
		}
	})
}

const fuzzMaxFrame = 10_000

// servedFrames is the naive reading of a stream: the bodies that reach the handler.
func servedFrames(apis *wire.Set, stream []byte) (bodies []string) {
	for len(stream) >= 4 {
		size := binary.BigEndian.Uint32(stream)
		if size > fuzzMaxFrame || int(size) > len(stream)-4 {
			return bodies
		}
		_, body, err := apis.ParseRequest(stream[4:4+size], wire.Internal, "")
		stream = stream[4+size:]
		if r, ok := err.(*wire.Rejection); ok && r.Reason == wire.UnknownApiVersions {
			continue
		}
		if err != nil {
			return bodies
		}
		bodies = append(bodies, string(body))
	}
	return bodies
}
