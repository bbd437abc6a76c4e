package conn

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// maxVectors is how many pieces one writev takes (IOV_MAX is 1024).
	maxVectors = 256
	// smallRange is the size up to which a file's range is copied: reading it beside the other pieces costs less than
	// ending the gathered write and a sendfile.
	smallRange = 16 << 10
	// maxSendfile bounds one call. It is what the kernel moves at a time anyway; larger calls were measured to cost half as
	// much processor time again, and more than a copy. It also lets the bound on concurrent calls go round.
	maxSendfile = 64 << 10
)

// tcpSink writes by writev and sendfile. What comes before a sendfile is sent with MSG_MORE, so that headers and records
// share segments. (TCP_CORK around the reply would do the same, but was measured to cost a third more processor time.)
type tcpSink struct {
	conn      *net.TCPConn
	raw       syscall.RawConn
	counters  *counters
	sendfiles chan struct{} // one token per sendfile call
	progress  func()

	pieces  net.Buffers // to be written, in order
	writing net.Buffers // what net.Buffers.WriteTo consumes
	// arena holds copied ranges; [0, used) is referred to by pieces.
	arena *[bufferBytes]byte
	used  int

	// The sendfile under way: left bytes of file from pos on.
	file int
	pos  int64
	left int
	err  error
	// Callbacks of raw, made once: they are called when the socket may be writable, and return false to wait.
	sendReady, moreReady func(fd uintptr) bool
}

func newTCPSink(c net.Conn, k *counters, sendfiles chan struct{}, progress func()) (sink, bool) {
	raw, ok := rawConn(c)
	if !ok {
		return nil, false
	}
	s := &tcpSink{conn: c.(*net.TCPConn), raw: raw, counters: k, sendfiles: sendfiles, progress: progress}
	s.sendReady, s.moreReady = s.sendRaw, s.moreRaw
	return s, true
}

func (s *tcpSink) add(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	s.pieces = append(s.pieces, b)
	if len(s.pieces) < maxVectors {
		return nil
	}
	return s.writePieces()
}

func (s *tcpSink) addFile(f File, pos int64, n int) error {
	fd, ok := f.Fd()
	if !ok || n <= smallRange {
		return s.copyRange(f, pos, n)
	}
	if err := s.writePiecesBefore(); err != nil {
		return err
	}
	s.file, s.pos, s.left, s.err = int(fd), pos, n, nil
	if err := s.raw.Write(s.sendReady); err != nil {
		return err
	}
	if s.err == errNoSendfile {
		return s.copyRange(f, s.pos, s.left)
	}
	return s.err
}

var errNoSendfile = errors.New("sendfile is not possible with this file")

func (s *tcpSink) sendRaw(fd uintptr) bool {
	for s.left > 0 {
		s.sendfiles <- struct{}{}
		before := s.pos
		n, err := unix.Sendfile(int(fd), s.file, &s.pos, min(s.left, maxSendfile))
		<-s.sendfiles
		s.counters.writeCalls.Add(1)
		if n > 0 {
			s.pos = before + int64(n)
			s.left -= n
			s.counters.bytesSendfile.Add(uint64(n))
			s.counters.bytesWritten.Add(uint64(n))
			s.progress()
		}
		switch {
		case err == unix.EAGAIN:
			return false
		case err == unix.EINTR:
		case err == unix.EINVAL || err == unix.ENOSYS || err == unix.EOPNOTSUPP:
			s.err = errNoSendfile
			return true
		case err != nil:
			s.err = os.NewSyscallError("sendfile", err)
			return true
		case n == 0:
			s.err = fmt.Errorf("sendfile at %d, %d bytes short of what was promised: %w", s.pos, s.left, io.ErrUnexpectedEOF)
			return true
		}
	}
	return true
}

// copyRange reads a range and adds it as bytes.
func (s *tcpSink) copyRange(f File, pos int64, n int) error {
	for n > 0 {
		if s.used == bufferBytes {
			if err := s.writePieces(); err != nil {
				return err
			}
		}
		if s.arena == nil {
			s.arena = takeBuffer()
		}
		part := s.arena[s.used:min(s.used+n, bufferBytes)]
		if err := readFull(f, part, pos); err != nil {
			return err
		}
		s.counters.bytesCopied.Add(uint64(len(part)))
		s.used += len(part)
		pos += int64(len(part))
		n -= len(part)
		if err := s.add(part); err != nil {
			return err
		}
	}
	return nil
}

// writePieces writes what was added so far. Afterwards nothing refers to the arena.
func (s *tcpSink) writePieces() error {
	if len(s.pieces) == 0 {
		return nil
	}
	var n int64
	var err error
	if len(s.pieces) == 1 {
		var m int
		m, err = s.conn.Write(s.pieces[0])
		n = int64(m)
	} else {
		s.writing = s.pieces
		n, err = s.writing.WriteTo(s.conn)
	}
	s.counters.writeCalls.Add(1)
	s.counters.bytesWritten.Add(uint64(n))
	s.progress()
	s.clear()
	return err
}

// writePiecesBefore does the same ahead of a sendfile.
func (s *tcpSink) writePiecesBefore() error {
	if len(s.pieces) == 0 {
		return nil
	}
	s.writing, s.err = s.pieces, nil
	err := s.raw.Write(s.moreReady)
	s.clear()
	if err == nil {
		err = s.err
	}
	return err
}

func (s *tcpSink) moreRaw(fd uintptr) bool {
	for len(s.writing) > 0 {
		n, err := unix.SendmsgBuffers(int(fd), s.writing, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
		s.counters.writeCalls.Add(1)
		switch err {
		case nil:
		case unix.EAGAIN:
			return false
		case unix.EINTR:
			continue
		default:
			s.err = os.NewSyscallError("sendmsg", err)
			return true
		}
		s.counters.bytesWritten.Add(uint64(n))
		s.progress()
		for len(s.writing) > 0 && n >= len(s.writing[0]) {
			n -= len(s.writing[0])
			s.writing = s.writing[1:]
		}
		if n > 0 {
			s.writing[0] = s.writing[0][n:]
		}
	}
	return true
}

// clear drops the pieces, and with them all that refers to the arena.
func (s *tcpSink) clear() {
	s.writing = nil
	clear(s.pieces)
	s.pieces, s.used = s.pieces[:0], 0
}

func (s *tcpSink) flush() error {
	err := s.writePieces()
	s.release()
	return err
}

func (s *tcpSink) release() {
	s.used = 0
	if s.arena != nil {
		giveBuffer(s.arena)
		s.arena = nil
	}
}
