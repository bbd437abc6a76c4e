package seglog

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/broker/vfs"
)

// What harms the files of one log ends that log, and not its directory.
func TestALogFailsAlone(t *testing.T) {
	for _, test := range []struct {
		name string
		harm func(m *vfs.Mem)
		want error
	}{
		{"its folder is deleted", func(m *vfs.Mem) { _ = m.RemoveAll("data/t-0") }, ErrFailed},
		{"its files are closed to the process", func(m *vfs.Mem) {
			m.Inject(vfs.Fault{Op: vfs.OpOpen, Pattern: "*.index", Err: fs.ErrPermission})
		}, ErrFailed},
		{"something else has the name of its folder", func(m *vfs.Mem) {
			m.Inject(vfs.Fault{Op: vfs.OpStat, Pattern: "0*.log", Err: syscall.ENOTDIR})
		}, ErrFailed},
		{"the volume is gone", func(m *vfs.Mem) { _ = m.RemoveAll("data") }, ErrOffline},
		{"the disk does not write", func(m *vfs.Mem) {
			m.Inject(vfs.Fault{Op: vfs.OpWrite, Pattern: "0*.log", Err: syscall.EIO})
		}, ErrOffline},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := vfs.NewMem(1)
			d, err := OpenDirectory(m, "data")
			must(t, err)
			l, _ := mustOpen(t, m, Options{Directory: d, Files: NewFilePool(1)})
			must(t, l.Append(plain(t, 0, 2, now0), now0))
			must(t, l.Flush())
			test.harm(m)
			err = nil
			for range 20 { // until a segment is full, at the latest
				if err = l.Append(plain(t, l.EndOffset(), 5, now0), now0); err == nil {
					err = l.Flush()
				}
				if err != nil {
					break
				}
			}
			if !errors.Is(err, test.want) {
				t.Fatalf("an append gives %v, want %v", err, test.want)
			}
			if again := l.Append(plain(t, l.EndOffset(), 2, now0), now0); !errors.Is(again, test.want) {
				t.Errorf("the next one gives %v", again)
			}
			if offline := d.Offline(); (offline != nil) != (test.want == ErrOffline) {
				t.Errorf("the directory says %v", offline)
			}
		})
	}
}

func TestWhatCannotBeOpenedFailsAlone(t *testing.T) {
	m := vfs.NewMem(1)
	d, err := OpenDirectory(m, "data")
	must(t, err)
	must(t, m.MkdirAll("data/t-0/"+journalName))
	if _, _, err := Open(m, "data/t-0", Options{Config: small(), TopicID: topic, Directory: d}); !errors.Is(err, ErrFailed) {
		t.Errorf("open gives %v, want %v", err, ErrFailed)
	}
	must(t, d.Offline())
}
