package seglog

import (
	"errors"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// TestAFlushAfterAFailedOneIsTrue: an fsync fails, and the process ends. The next one reads all from the cache, and goes on; what it flushes
// survives the loss of power, though the cache counted the old part as written.
func TestAFlushAfterAFailedOneIsTrue(t *testing.T) {
	for _, segments := range []int32{1 << 20, 1000} { // the failure in the active segment, and in one that has rolled
		for seed := range uint64(50) {
			fs := durableDisk(t, seed)
			o := Options{Config: small()}
			o.Config.SegmentBytes = segments
			l, _ := mustOpen(t, fs, o)
			fill(t, l, 10, 3)
			must(t, l.Flush())
			o.RecoveryPoint = l.RecoveryPoint()
			fill(t, l, 20, 3)
			remove := fs.Inject(vfs.Fault{Op: vfs.OpSync, Pattern: "*.log", Err: syscall.EIO, Times: 1})
			if err := l.Flush(); !errors.Is(err, ErrOffline) {
				t.Fatal(err)
			}
			remove()

			l, _ = mustOpen(t, fs, o)
			fill(t, l, 5, 3)
			must(t, l.Flush())
			want, end := readAll(t, l), l.EndOffset()

			fs.Crash()
			o.RecoveryPoint = end
			l, r := mustOpen(t, fs, o)
			if got := readAll(t, l); got != want {
				t.Fatalf("seed %d, segments of %d: %d of %d records are left after the power loss: %+v", seed, segments, l.EndOffset(), end, r)
			}
		}
	}
}

// TestAFullDiskDoesNotVouch: as above, and the next process finds the disk full, so that even the same bytes cannot be written.
func TestAFullDiskDoesNotVouch(t *testing.T) {
	fs := durableDisk(t, 1)
	l, _ := mustOpen(t, fs, Options{})
	fill(t, l, 5, 3)
	remove := fs.Inject(vfs.Fault{Op: vfs.OpSync, Pattern: "*.log", Err: syscall.EIO, Times: 1})
	if err := l.Flush(); !errors.Is(err, ErrOffline) {
		t.Fatal(err)
	}
	remove()
	remove = fs.Inject(vfs.Fault{Op: vfs.OpWrite, Pattern: "*.log", Err: syscall.ENOSPC})
	l, _ = mustOpen(t, fs, Options{})
	if err := l.Flush(); !vfs.IsFull(err) || l.RecoveryPoint() != 0 {
		t.Errorf("a flush that could not write: %v, recovery point %d", err, l.RecoveryPoint())
	}
	remove()
	must(t, l.Flush())
	want := readAll(t, l)
	fs.Crash()
	l, _ = mustOpen(t, fs, Options{})
	if got := readAll(t, l); got != want {
		t.Errorf("left are %d records", l.EndOffset())
	}
}

// TestAJournalAfterAFailedFsync: the start that could not be made durable is read from the cache by the next process; asked for it again, that
// one must not rely on it.
func TestAJournalAfterAFailedFsync(t *testing.T) {
	for seed := range uint64(50) {
		fs := durableDisk(t, seed)
		l, _ := mustOpen(t, fs, Options{})
		fill(t, l, 10, 3)
		must(t, l.Flush())
		o := Options{RecoveryPoint: l.RecoveryPoint()}
		must(t, l.AdvanceStart(2))
		remove := fs.Inject(vfs.Fault{Op: vfs.OpSync, Pattern: "*" + journalName, Err: syscall.EIO, Times: 1})
		if err := l.AdvanceStart(7); !errors.Is(err, ErrOffline) {
			t.Fatal(err)
		}
		remove()
		l, _ = mustOpen(t, fs, o)
		for _, start := range []kafka.Offset{7, 9} {
			must(t, l.AdvanceStart(start))
			after, _ := mustOpen(t, fs.CrashClone(seed), o)
			if got := after.StartOffset(); got != start {
				t.Fatalf("seed %d: start %d after a power loss, %d was durable", seed, got, start)
			}
		}
	}
}

// durableDisk has a data directory that a crash does not take away.
func durableDisk(t *testing.T, seed uint64) *vfs.Mem {
	t.Helper()
	fs := vfs.NewMem(seed)
	must(t, fs.MkdirAll("data"))
	must(t, fs.SyncDir("."))
	return fs
}
