//go:build !linux

package conn

import (
	"net"
	"syscall"
)

// Elsewhere than on Linux every connection is read and written by package net.
func rawConn(net.Conn) (syscall.RawConn, bool) { return nil, false }

func (s *source) readRaw(uintptr) bool { panic("conn: no raw connections on this system") }

func newTCPSink(net.Conn, *counters, chan struct{}, func()) (sink, bool) { return nil, false }
