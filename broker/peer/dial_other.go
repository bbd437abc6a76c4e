//go:build !linux

package peer

import "syscall"

func setUserTimeout(_, _ string, _ syscall.RawConn) error { return nil }
