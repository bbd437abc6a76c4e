package peer

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func setUserTimeout(_, _ string, raw syscall.RawConn) error {
	var err error
	if controlErr := raw.Control(func(fd uintptr) {
		err = os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadAfter.Milliseconds())))
	}); controlErr != nil {
		return controlErr
	}
	return err
}
