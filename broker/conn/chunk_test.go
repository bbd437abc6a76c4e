package conn

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// osFile is a file with a descriptor, as vfs gives; memFile one without.
type osFile struct{ *os.File }

func (f osFile) Fd() (uintptr, bool) { return f.File.Fd(), true }

type memFile struct{ *bytes.Reader }

func (memFile) Fd() (uintptr, bool) { return 0, false }

// segment makes a file of n random bytes.
func segment(t testing.TB, n int) (File, []byte) {
	t.Helper()
	b := make([]byte, n)
	rnd := rand.NewChaCha8([32]byte{1})
	_, _ = rnd.Read(b)
	name := filepath.Join(t.TempDir(), "segment")
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return osFile{f}, b
}

// chunked makes a random reply out of bytes and file ranges, and what must arrive.
func chunked(rnd *rand.Rand, h wire.RequestHeader, files []File, content []byte, o *owner) (chunks []Chunk, want []byte) {
	want = wire.AppendResponseHeader(nil, h)
	chunks = append(chunks, Chunk{Bytes: nil, Owner: releaser(o)}) // the head, once the size is known
	head := len(want)
	for range rnd.IntN(12) {
		if rnd.IntN(2) == 0 {
			at := rnd.IntN(len(content) - 100_000)
			b := content[at : at+rnd.IntN([]int{20, 5000, 100_000}[rnd.IntN(3)])]
			chunks = append(chunks, Chunk{Bytes: b, Owner: releaser(o)})
			want = append(want, b...)
			continue
		}
		pos := rnd.IntN(len(content))
		n := min(len(content)-pos, rnd.IntN([]int{20, smallRangeForTest * 2, 1_000_000}[rnd.IntN(3)]))
		chunks = append(chunks, Chunk{File: files[rnd.IntN(len(files))], Pos: int64(pos), Len: n, Owner: releaser(o)})
		want = append(want, content[pos:pos+n]...)
	}
	want = wire.EndFrame(want, 0, 0)
	chunks[0].Bytes = want[:head]
	return chunks, want
}

const smallRangeForTest = 16 << 10

// releaser avoids an interface that holds a nil pointer.
func releaser(o *owner) Releaser {
	if o == nil {
		return nil
	}
	return o
}

// Several connections read from the same descriptor at once: everything arrives as it is in the file, and every owner is released once.
func TestRepliesOfBytesAndFileRanges(t *testing.T) {
	file, content := segment(t, 3<<20)
	for _, c := range []struct {
		name     string
		files    []File
		sendfile bool
	}{
		{"with descriptor", []File{file}, true},
		{"without descriptor", []File{memFile{bytes.NewReader(content)}}, false},
		{"mixed", []File{file, memFile{bytes.NewReader(content)}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, dial := serve(t, Config{MaxConcurrentSendfiles: 1}, true, func(req *Request) *Reply {
				seed := binary.BigEndian.Uint64(req.Body)
				chunks, _ := chunked(rand.New(rand.NewPCG(seed, 0)), req.Header, c.files, content, nil)
				return AnswerChunks(chunks)
			})
			done := make(chan error, 4)
			for range cap(done) {
				cl := dial()
				go func() { done <- readChunked(cl, c.files, content) }()
			}
			for range cap(done) {
				if err := wantRead(t, done, "client"); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.Stats(); (got.BytesSendfile > 0) != c.sendfile || got.BytesCopied == 0 {
				t.Errorf("%d bytes by sendfile, %d copied", got.BytesSendfile, got.BytesCopied)
			}
		})
	}
}

func readChunked(c *client, files []File, content []byte) error {
	for i := range 20 {
		seed := rand.Uint64()
		c.correlation++
		if _, err := c.Write(quorumFrame(c.correlation, binary.BigEndian.AppendUint64(nil, seed))); err != nil {
			return err
		}
		h := wire.RequestHeader{Key: wire.KeyQuorum, CorrelationID: c.correlation}
		_, want := chunked(rand.New(rand.NewPCG(seed, 0)), h, files, content, nil)
		got, err := readFrame(c)
		if err != nil || !bytes.Equal(got, want[4:]) {
			return fmt.Errorf("seed %d, reply %d: %d bytes, %v, want %d", seed, i, len(got), err, len(want)-4)
		}
	}
	return nil
}

// A pipe has no descriptor: everything goes through the buffer.
func TestRepliesOverAPipe(t *testing.T) {
	file, content := segment(t, 1<<20)
	l := newPipeListener()
	s := NewServer(Config{}, testAPIs(t), handlerFunc(func(req *Request) *Reply {
		chunks, _ := chunked(rand.New(rand.NewPCG(binary.BigEndian.Uint64(req.Body), 0)), req.Header, []File{file}, content, nil)
		return AnswerChunks(chunks)
	}))
	served := make(chan error, 1)
	go func() { served <- s.Serve(Listener{Listener: l, Internal: true}) }()
	if err := readChunked(newClient(t, l.dial()), []File{file}, content); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Shutdown(ctx)
	<-served
}

// A file that is shorter than was promised breaks the frame: the connection ends, and the owner is released.
func TestFileShorterThanPromisedEndsTheConnection(t *testing.T) {
	file, content := segment(t, 100_000)
	for _, f := range []File{file, memFile{bytes.NewReader(content)}} {
		for _, n := range []int{1000, 90_000} {
			var o owner
			s, dial := serve(t, Config{}, true, func(req *Request) *Reply {
				head := wire.EndFrame(wire.AppendResponseHeader(nil, req.Header), 0, n)
				return AnswerChunks([]Chunk{{Bytes: head}, {File: f, Pos: int64(len(content) - n/2), Len: n, Owner: &o}})
			})
			c := dial()
			c.send(nil)
			if frame, err := readFrame(c); err == nil {
				t.Errorf("a frame of %d bytes came, want the connection closed", len(frame))
			}
			finish(t, s)
			if n := o.count(); n != 1 {
				t.Errorf("the owner was released %d times", n)
			}
		}
	}
}

func TestOwnersAreReleasedOnce(t *testing.T) {
	file, content := segment(t, 1<<20)
	var o owner
	want := 0
	s, dial := serve(t, Config{}, true, func(req *Request) *Reply {
		chunks, _ := chunked(rand.New(rand.NewPCG(binary.BigEndian.Uint64(req.Body), 0)), req.Header, []File{file}, content, &o)
		o.mu.Lock()
		want += len(chunks)
		o.mu.Unlock()
		return AnswerChunks(chunks)
	})
	c := dial()
	if err := readChunked(c, []File{file}, content); err != nil {
		t.Fatal(err)
	}
	// A client that goes away in the middle of replies.
	for i := range 20 {
		c := dial()
		for j := range 20 {
			c.write(quorumFrame(0, binary.BigEndian.AppendUint64(nil, uint64(i*100+j))))
		}
		c.Close()
	}
	finish(t, s)
	if o.released != want || want == 0 {
		t.Errorf("%d owners were released, want %d", o.released, want)
	}
}

// pipeListener accepts net.Pipe ends.
type pipeListener struct {
	ends   chan net.Conn
	closed chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{ends: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) dial() net.Conn {
	a, b := net.Pipe()
	l.ends <- b
	return a
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ends:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
