package seglog

import (
	"errors"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// What happens between the steps of a flush, how far the log is durable then, and that a loss of power agrees.
func TestAFlushBesideTheWriter(t *testing.T) {
	add := func(n int) func(*testing.T, *Log) {
		return func(t *testing.T, l *Log) { must(t, l.Append(plain(t, l.EndOffset(), n, now0), now0)) }
	}
	cut := func(t *testing.T, l *Log) { must(t, l.TruncateTo(6)) }
	for _, test := range []struct {
		name           string
		before, after  []func(*testing.T, *Log) // the fsync
		durable, later kafka.Offset             // after the commit, and after one more flush
	}{
		{"nothing", nil, nil, 10, 10},
		{"appends", []func(*testing.T, *Log){add(1)}, []func(*testing.T, *Log){add(2)}, 10, 13},
		{"a cut, and appends in its place", nil, []func(*testing.T, *Log){cut, add(9)}, 5, 14},
		{"a cut before the fsync", []func(*testing.T, *Log){cut, add(9)}, nil, 5, 14},
		{"the log starts over", nil, []func(*testing.T, *Log){func(t *testing.T, l *Log) { must(t, l.TruncateFullyTo(3)) }, add(9)}, 3, 12},
		// The commit must make a new file's name durable, and flushes all then.
		{"a new segment", nil, []func(*testing.T, *Log){func(t *testing.T, l *Log) { must(t, l.Roll(now0)) }, add(1)}, 11, 11},
		{"a whole flush", nil, []func(*testing.T, *Log){add(1), func(t *testing.T, l *Log) { must(t, l.Flush()) }}, 11, 11},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := vfs.NewMem(1)
			must(t, m.MkdirAll("data"))
			must(t, m.SyncDir("."))
			l, _ := mustOpen(t, m, Options{Config: Config{SegmentBytes: 1 << 20, SegmentMs: 1 << 40, SegmentIndexBytes: 1 << 20, IndexIntervalBytes: 4096}})
			add(5)(t, l)
			must(t, l.Flush())
			add(5)(t, l)
			run := func(steps []func(*testing.T, *Log)) {
				for _, step := range steps {
					step(t, l)
				}
			}
			f := must2(l.BeginFlush())
			run(test.before)
			f.Sync()
			run(test.after)
			must(t, l.CommitFlush(f))
			want := func(what string, durable kafka.Offset) {
				t.Helper()
				if got := l.RecoveryPoint(); got != durable {
					t.Errorf("%s: durable up to %d, want %d", what, got, durable)
				}
				for seed := range uint64(20) {
					c := m.CrashClone(seed)
					after, _ := mustOpen(t, c, Options{})
					if got := after.EndOffset(); got < durable {
						t.Errorf("%s: a loss of power left [.., %d), want %d at least", what, got, durable)
					}
				}
			}
			want("after the commit", test.durable)
			if f = must2(l.BeginFlush()); f != nil {
				f.Sync()
				must(t, l.CommitFlush(f))
			}
			want("after another flush", test.later)
			must(t, l.Close())
		})
	}
}

// An fsync tells of an error once. Nothing that is flushed beside the one that failed may count.
func TestAFailedFsyncBesideTheWriterIsFinal(t *testing.T) {
	for _, withDirectory := range []bool{true, false} {
		m := vfs.NewMem(1)
		o := Options{}
		if withDirectory {
			o.Directory = must2(OpenDirectory(m, "data"))
		}
		l, _ := mustOpen(t, m, o)
		must(t, l.Append(plain(t, 0, 2, now0), now0))
		f := must2(l.BeginFlush())
		m.Inject(vfs.Fault{Op: vfs.OpSync, Pattern: "*.log", Err: syscall.EIO, Times: 1})
		f.Sync()
		if withDirectory && !errors.Is(o.Directory.Offline(), ErrOffline) {
			t.Error("the directory works after a failed fsync")
		}
		if err := l.Flush(); !errors.Is(err, ErrOffline) {
			t.Errorf("a flush before the commit gives %v", err)
		}
		if err := l.CommitFlush(f); !errors.Is(err, ErrOffline) {
			t.Errorf("the commit gives %v", err)
		}
		if err := l.Append(plain(t, 2, 2, now0), now0); !errors.Is(err, ErrOffline) {
			t.Errorf("an append gives %v", err)
		}
		if got := l.RecoveryPoint(); got != 0 {
			t.Errorf("durable up to %d", got)
		}
	}
}

// A flush that is under way does not keep files open that the log gave up.
func TestAFlushOfAClosedLog(t *testing.T) {
	m, files := vfs.NewMem(1), NewFilePool(10)
	l, _ := mustOpen(t, m, Options{Files: files})
	must(t, l.Append(plain(t, 0, 2, now0), now0))
	f := must2(l.BeginFlush())
	must(t, l.Close())
	f.Sync()
	if err := l.CommitFlush(f); !errors.Is(err, ErrClosed) {
		t.Errorf("the commit gives %v", err)
	}
	if n := files.Open(); n != 0 {
		t.Errorf("%d files are open", n)
	}
}
