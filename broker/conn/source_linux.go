package conn

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// rawConn gives access to the descriptor of a plain TCP connection.
func rawConn(c net.Conn) (syscall.RawConn, bool) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil, false
	}
	raw, err := tcp.SyscallConn()
	return raw, err == nil
}

// readRaw is called when the descriptor may be readable; false means wait. It holds no buffer while it waits.
func (s *source) readRaw(fd uintptr) bool {
	if s.buf == nil {
		s.buf = takeBuffer()
	}
	for {
		var n int
		var err error
		if len(s.dst) == 0 {
			n, err = unix.Read(int(fd), s.buf[s.w:s.w+s.room()])
		} else {
			n, err = unix.Readv(int(fd), [][]byte{s.dst, s.buf[:s.room()]})
		}
		switch err {
		case nil:
			s.n = n
			return true
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			if s.w == 0 {
				giveBuffer(s.buf)
				s.buf = nil
			}
			return false
		default:
			s.err = os.NewSyscallError("read", err)
			return true
		}
	}
}
