package seglog

import (
	"testing"

	"github.com/fairlead-io/fairlead/broker/vfs"
)

// A log opens on a disk without a byte left, after a stop of either kind and at every point of its life; it can be read, and
// goes on when there is space.
func TestOpenOnAFullDisk(t *testing.T) {
	for batches := range 60 {
		for _, clean := range []bool{true, false} {
			fs := vfs.NewMem(uint64(batches))
			l, _ := mustOpen(t, fs, Options{})
			want := fill(t, l, batches, 3)
			if clean {
				must(t, l.Close())
			} else {
				l.forgetFiles()
			}
			fs.SetQuota(fs.Used())
			for range 3 { // it may not get worse from start to start
				l, r := mustOpen(t, fs, Options{Clean: clean})
				if got := readAll(t, l); got != want {
					t.Fatalf("%d batches, clean %v: the log is not as written: %+v", batches, clean, r)
				}
				for range 2 {
					if err := l.Append(plain(t, l.EndOffset(), 3, now0), now0); !vfs.IsFull(err) {
						t.Fatalf("append: %v", err)
					}
				}
				l.forgetFiles()
				clean = false
			}
			fs.SetQuota(-1)
			l, _ = mustOpen(t, fs, Options{})
			want += fill(t, l, 20, 3)
			must(t, l.Close())
			l, r := mustOpen(t, fs, Options{Clean: true})
			if got := readAll(t, l); got != want || r.Scanned || r.RebuiltIndexes > 0 {
				t.Fatalf("%d batches: with space again the log is not as written: %+v", batches, r)
			}
		}
	}
}

// DeleteRecords frees a disk that is full to the last byte.
func TestAdvanceStartOnAFullDisk(t *testing.T) {
	for _, flushed := range []bool{true, false} {
		advanceStartOnAFullDisk(t, flushed)
	}
}

func advanceStartOnAFullDisk(t *testing.T, flushed bool) {
	fs := vfs.NewMem(1)
	must(t, fs.MkdirAll("data"))
	must(t, fs.SyncDir(""))
	l, _ := mustOpen(t, fs, Options{})
	fill(t, l, 90, 3)
	if flushed {
		must(t, l.Flush())
	}
	fs.SetQuota(fs.Used())
	must(t, l.AdvanceStart(200))
	if free := must2(fs.Space("data")).Free; l.StartOffset() != 200 || free == 0 {
		t.Errorf("the start is %d and %d bytes are free, want 200 and some", l.StartOffset(), free)
	}
	want := readAll(t, l)
	crashed := fs.CrashClone(3)
	crashed.SetQuota(-1)
	if l, _ := mustOpen(t, crashed, Options{}); l.StartOffset() != 200 || l.EndOffset() < 200 {
		t.Errorf("after a power failure the log is [%d, %d), want it to start at 200", l.StartOffset(), l.EndOffset())
	}
	l.forgetFiles()
	l, _ = mustOpen(t, fs, Options{})
	if got := readAll(t, l); l.StartOffset() != 200 || got != want {
		t.Errorf("after a crash the start is %d, want 200", l.StartOffset())
	}
	// Inside the first segment nothing can be removed: it is refused, and nothing has changed.
	fs.SetQuota(fs.Used())
	first := l.Segments()[0]
	if next := l.Segments()[1].Base; next > 202 {
		if err := l.AdvanceStart(202); !vfs.IsFull(err) || l.StartOffset() != 200 || l.Segments()[0] != first {
			t.Errorf("inside a segment: %v, start %d", err, l.StartOffset())
		}
	}
}
