package conn

import (
	"io"
	"net"
	"syscall"
)

// largeFrame is the size from which on a frame's bytes are worth more than a system call: they are read straight into
// the slab, and the next read takes no more than the header of what follows.
const largeFrame = 32 << 10

// readAhead is how much is read beyond a large frame: the size and header of the next.
const readAhead = 512

// source reads frames from a connection with few system calls and few copies. Small frames come many at a time through
// the buffer; of a large one all but the first bytes go straight where they belong.
type source struct {
	conn net.Conn
	raw  syscall.RawConn // nil: read by conn.Read
	// buf is nil while it is empty. [r, w) is read and not consumed.
	buf  *[bufferBytes]byte
	r, w int
	// ahead bounds what the next read takes into buf.
	ahead int

	// The read under way: dst first, then buf. readReady is made once, as a callback of raw.
	dst       []byte
	n         int
	err       error
	readReady func(fd uintptr) bool

	progress func(n int) // called after every read
}

func newSource(c net.Conn, progress func(n int)) *source {
	s := &source{conn: c, ahead: bufferBytes, progress: progress}
	if raw, ok := rawConn(c); ok {
		s.raw, s.readReady = raw, s.readRaw
	}
	return s
}

// size reads the size before a frame. io.EOF means that the connection ended between two frames.
func (s *source) size() (uint32, error) {
	for s.w-s.r < 4 {
		if err := s.more(nil); err != nil {
			if err == io.EOF && s.w > s.r {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
	}
	b := s.buf[s.r:]
	size := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	s.consume(4)
	return size, nil
}

// read fills dst, which is a frame's whole length.
func (s *source) read(dst []byte) error {
	s.ahead = bufferBytes
	if len(dst) >= largeFrame {
		s.ahead = readAhead
	}
	if s.w > s.r {
		n := copy(dst, s.buf[s.r:s.w])
		s.consume(n)
		dst = dst[n:]
	}
	for len(dst) > 0 {
		if err := s.more(dst); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		dst = dst[min(s.n, len(dst)):]
	}
	return nil
}

// consume drops n bytes from the buffer, and the buffer when it is empty.
func (s *source) consume(n int) {
	s.r += n
	if s.r == s.w {
		s.r, s.w = 0, 0
		giveBuffer(s.buf)
		s.buf = nil
	}
}

// more reads once: into dst, and beyond it into the buffer. With a dst the buffer is empty; without, it has less than a frame's size.
// s.n tells how many bytes came.
func (s *source) more(dst []byte) error {
	if s.r > 0 {
		s.w = copy(s.buf[:], s.buf[s.r:s.w])
		s.r = 0
	}
	s.dst, s.n, s.err = dst, 0, nil
	if s.raw != nil {
		if err := s.raw.Read(s.readReady); err != nil {
			s.err = err
		}
	} else {
		s.readPlain()
	}
	s.dst = nil
	s.progress(s.n)
	if over := s.n - len(dst); over > 0 {
		s.w += over
	} else if s.w == 0 && s.buf != nil {
		giveBuffer(s.buf)
		s.buf = nil
	}
	if s.n == 0 && s.err == nil {
		s.err = io.EOF
	}
	return s.err
}

// readPlain is for connections without descriptor: TLS, pipes. Small reads go through the buffer all the same.
func (s *source) readPlain() {
	if len(s.dst) >= largeFrame {
		s.n, s.err = s.conn.Read(s.dst)
	} else {
		if s.buf == nil {
			s.buf = takeBuffer()
		}
		var n int
		n, s.err = s.conn.Read(s.buf[s.w : s.w+s.room()])
		s.n = n
		if len(s.dst) > 0 { // the buffer was empty
			took := copy(s.dst, s.buf[:n])
			copy(s.buf[:], s.buf[took:n])
		}
	}
	if s.n > 0 {
		s.err = nil // it comes again
	}
}

// room is how much may be read into the buffer beyond what is in it.
func (s *source) room() int { return min(s.ahead, bufferBytes-s.w) }

// release gives the buffer back at the end.
func (s *source) release() {
	if s.buf != nil {
		giveBuffer(s.buf)
		s.buf, s.r, s.w = nil, 0, 0
	}
}
