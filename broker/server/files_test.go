package server

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestLogsGetHalfOfTheOpenFiles(t *testing.T) {
	for _, test := range []struct {
		limit uint64
		want  int
	}{{1024, 512}, {20_000, 10_000}, {1 << 20, maxLogFiles}, {^uint64(0), maxLogFiles}} {
		if got := logFiles(test.limit); got != test.want {
			t.Errorf("of %d: %d", test.limit, got)
		}
	}
}

// What logFiles counts on.
func TestTheSoftLimitOfOpenFilesIsTheHardOne(t *testing.T) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	if l.Cur != l.Max || openFileLimit() != l.Cur {
		t.Errorf("soft limit %d, hard limit %d, used %d", l.Cur, l.Max, openFileLimit())
	}
}
