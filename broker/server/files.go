package server

import (
	"golang.org/x/sys/unix"

	"github.com/fairlead-io/fairlead/broker/seglog"
)

// maxLogFiles bounds the files that logs keep open where the system sets no bound worth the name: each takes about a
// kilobyte of the kernel's memory.
const maxLogFiles = 1 << 18

// logFiles is how many files the logs may keep open: half of what the process may have, the rest is for connections. The Go
// runtime has raised the soft limit to the hard one when the process started.
func logFiles(limit uint64) int { return int(min(limit/2, maxLogFiles)) }

// openFileLimit is RLIMIT_NOFILE of this process.
func openFileLimit() uint64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 2 * seglog.DefaultOpenFiles
	}
	return l.Cur
}
