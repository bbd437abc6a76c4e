package conn

import (
	"fmt"
	"io"
	"net"
)

// sink gathers what replies are made of and writes it with few system calls. The bytes must stay until flush.
type sink interface {
	add(b []byte) error
	addFile(f File, pos int64, n int) error
	// flush writes everything that was added.
	flush() error
	// release gives buffers back at the end.
	release()
}

// newSink makes the sink of a connection. progress is called whenever bytes have gone out.
func newSink(c net.Conn, k *counters, sendfiles chan struct{}, progress func()) sink {
	if s, ok := newTCPSink(c, k, sendfiles, progress); ok {
		return s
	}
	return &copySink{conn: c, counters: k, progress: progress}
}

// copySink writes through a buffer: for TLS, which must encrypt every byte anyway, and for pipes.
type copySink struct {
	conn     net.Conn
	counters *counters
	progress func()
	buf      *[bufferBytes]byte
	n        int
}

func (s *copySink) add(b []byte) error {
	if len(b) >= bufferBytes && s.n == 0 {
		return s.write(b)
	}
	for len(b) > 0 {
		room, err := s.room()
		if err != nil {
			return err
		}
		n := copy(room, b)
		s.n += n
		b = b[n:]
	}
	return nil
}

func (s *copySink) addFile(f File, pos int64, n int) error {
	for n > 0 {
		room, err := s.room()
		if err != nil {
			return err
		}
		room = room[:min(n, len(room))]
		if err := readFull(f, room, pos); err != nil {
			return err
		}
		s.counters.bytesCopied.Add(uint64(len(room)))
		s.n += len(room)
		pos += int64(len(room))
		n -= len(room)
	}
	return nil
}

// room is the free part of the buffer, never empty.
func (s *copySink) room() ([]byte, error) {
	if s.n == bufferBytes {
		if err := s.flush(); err != nil {
			return nil, err
		}
	}
	if s.buf == nil {
		s.buf = takeBuffer()
	}
	return s.buf[s.n:], nil
}

func (s *copySink) flush() error {
	if s.n == 0 {
		return nil
	}
	err := s.write(s.buf[:s.n])
	s.release()
	return err
}

func (s *copySink) write(b []byte) error {
	n, err := s.conn.Write(b)
	s.counters.writeCalls.Add(1)
	s.counters.bytesWritten.Add(uint64(n))
	s.progress()
	return err
}

func (s *copySink) release() {
	s.n = 0
	if s.buf != nil {
		giveBuffer(s.buf)
		s.buf = nil
	}
}

// readFull reads [pos, pos+len(b)) of a file whose range was promised: an end of file within it is an error.
func readFull(f File, b []byte, pos int64) error {
	n, err := f.ReadAt(b, pos)
	if n == len(b) {
		return nil
	}
	if err == io.EOF || err == nil {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %d bytes at %d for a reply: %w", len(b), pos, err)
}
