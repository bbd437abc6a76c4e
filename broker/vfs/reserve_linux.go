package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// Reserve implements [Reserver]; some file systems cannot.
func (f osFile) Reserve(size int64) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	if err := conn.Control(func(fd uintptr) {
		for {
			if ferr = unix.Fallocate(int(fd), unix.FALLOC_FL_KEEP_SIZE, 0, size); ferr != unix.EINTR {
				return
			}
		}
	}); err != nil {
		return err
	}
	if ferr != nil {
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: ferr}
	}
	return nil
}
