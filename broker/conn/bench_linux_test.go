package conn

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// The benchmarks' clients are processes of their own, so that processor time is the server's alone. The test binary runs
// itself again with this variable set: address, requests, bytes of a request's body, requests in flight.
const benchClient = "FAIRLEAD_CONN_BENCH_CLIENT"

func TestMain(m *testing.M) {
	if spec := os.Getenv(benchClient); spec != "" {
		if err := runBenchClient(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runBenchClient writes requests encoded beforehand, reads replies and drops them.
func runBenchClient(spec string) error {
	var address string
	var requests, body, inflight int
	if _, err := fmt.Sscan(spec, &address, &requests, &body, &inflight); err != nil {
		return err
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	frame := quorumFrame(1, make([]byte, body))
	places := make(chan struct{}, inflight)
	go func() {
		for range requests {
			places <- struct{}{}
			if _, err := c.Write(frame); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 256<<10)
	for range requests {
		if _, err := io.ReadFull(c, buf[:4]); err != nil {
			return err
		}
		for left := int(binary.BigEndian.Uint32(buf)); left > 0; {
			n, err := c.Read(buf[:min(left, len(buf))])
			if err != nil {
				return err
			}
			left -= n
		}
		<-places
	}
	return nil
}

// measure has a client process do b.N requests and reports this process's processor seconds per 10^9 bytes.
func measure(b *testing.B, address string, body, inflight, bytesPerRequest int) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), benchClient+"="+address+" "+strconv.Itoa(b.N)+" "+strconv.Itoa(body)+" "+strconv.Itoa(inflight))
	cmd.Stderr = os.Stderr
	b.SetBytes(int64(bytesPerRequest))
	b.ResetTimer()
	before := cpuSeconds(b)
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric((cpuSeconds(b)-before)*1e9/float64(b.N)/float64(bytesPerRequest), "cpu-s/GB")
}

func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkFetch sends replies of 1 MB out of a file, by sendfile and through the buffer, and beside them the limit: bare
// sendfile in a loop.
func BenchmarkFetch(b *testing.B) {
	const size = 1 << 20
	file, _ := segment(b, 8<<20)
	plain := noFd{file}
	for _, c := range []struct {
		name       string
		file       File
		partitions int
	}{
		{"sendfile/partitions=1", file, 1},
		{"sendfile/partitions=8", file, 8},
		{"sendfile/partitions=32", file, 32},
		{"copy/partitions=1", plain, 1},
		{"copy/partitions=8", plain, 8},
		{"copy/partitions=32", plain, 32},
	} {
		b.Run(c.name, func(b *testing.B) {
			head := make([]byte, 60) // of a partition
			address := serveBench(b, func(req *Request) *Reply {
				chunks := make([]Chunk, 0, 1+2*c.partitions)
				chunks = append(chunks, Chunk{Bytes: wire.EndFrame(wire.AppendResponseHeader(nil, req.Header), 0, size+60*c.partitions)})
				for i := range c.partitions {
					part := size / c.partitions
					chunks = append(chunks, Chunk{Bytes: head}, Chunk{File: c.file, Pos: int64(i * part), Len: part})
				}
				return AnswerChunks(chunks)
			})
			measure(b, address, 0, 1, size)
		})
	}
	b.Run("limit", func(b *testing.B) {
		fd, _ := file.Fd()
		address := serveBare(b, len(quorumFrame(1, nil)), func(c *net.TCPConn, raw syscall.RawConn, _ []byte) error {
			if _, err := c.Write(binary.BigEndian.AppendUint32(nil, size)); err != nil {
				return err
			}
			pos := int64(0)
			return raw.Write(func(s uintptr) bool {
				for pos < size {
					if n, err := unix.Sendfile(int(s), int(fd), &pos, min(size-int(pos), maxSendfile)); err != nil || n == 0 {
						return err != unix.EAGAIN
					}
				}
				return true
			})
		})
		measure(b, address, 0, 1, size)
	})
}

// noFd is a file whose descriptor is not known.
type noFd struct{ io.ReaderAt }

func (noFd) Fd() (uintptr, bool) { return 0, false }

// BenchmarkProduce has five frames in flight; the handler computes CRC-32C and writes to a file as a log would, and
// answers. Beside it the limit: receive, CRC, write, answer in a loop.
func BenchmarkProduce(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
		frame := len(quorumFrame(1, make([]byte, size)))
		b.Run(fmt.Sprintf("server/%d", size), func(b *testing.B) {
			log := newLog(b)
			var s *Server
			address := serveBench(b, func(req *Request) *Reply {
				log.append(b, req.Body)
				return Answer(wire.AppendResponse(nil, req.Header, wire.NewPrivateResponse(wire.KeyQuorum, nil)))
			}, &s)
			measure(b, address, size, 5, frame)
			st := s.Stats()
			b.ReportMetric(float64(st.ReadCalls)/float64(st.Requests), "reads/op")
			b.ReportMetric(float64(st.WriteCalls)/float64(st.Requests), "writes/op")
		})
		b.Run(fmt.Sprintf("limit/%d", size), func(b *testing.B) {
			log := newLog(b)
			reply := []byte{0, 0, 0, 5, 0, 0, 0, 1, 0}
			address := serveBare(b, frame, func(c *net.TCPConn, _ syscall.RawConn, got []byte) error {
				log.append(b, got)
				_, err := c.Write(reply)
				return err
			})
			measure(b, address, size, 5, frame)
		})
	}
}

// serveBench starts a server and gives its address.
func serveBench(b *testing.B, h handlerFunc, out ...**Server) string {
	s, dial := serve(b, Config{}, true, h)
	for _, o := range out {
		*o = s
	}
	c := dial()
	defer c.Close()
	return c.RemoteAddr().String()
}

// serveBare serves one connection with nothing but a buffer of a frame's size, and gives its address.
func serveBare(b *testing.B, frame int, answer func(c *net.TCPConn, raw syscall.RawConn, got []byte) error) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		defer l.Close()
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		raw, _ := rawConn(c)
		buf := make([]byte, frame)
		for {
			if _, err := io.ReadFull(c, buf); err != nil {
				return
			}
			if err := answer(c.(*net.TCPConn), raw, buf); err != nil {
				return
			}
		}
	}()
	return l.Addr().String()
}

// log is a file of 64 MB that is written over and over.
type log struct {
	f   *os.File
	pos int64
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newLog(b *testing.B) *log {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return &log{f: f}
}

// append reports errors by Error, since it runs on the server's goroutine.
func (l *log) append(b *testing.B, p []byte) {
	if crc32.Checksum(p, castagnoli) == 1 {
		b.Error("unlikely")
	}
	if _, err := l.f.WriteAt(p, l.pos); err != nil {
		b.Error(err)
	}
	if l.pos += int64(len(p)); l.pos > 64<<20 {
		l.pos = 0
	}
}
