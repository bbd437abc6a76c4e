package seglog

import (
	"errors"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/broker/vfs"
)

// A log whose segments are gone and whose first one could not be made again, for lack of a handle, can be used as far as that goes,
// closed, and emptied at last.
func TestALogThatIsHalfEmptied(t *testing.T) {
	for _, closed := range []bool{true, false} {
		m := vfs.NewMem(1)
		l, _ := mustOpen(t, m, Options{})
		must(t, l.Append(plain(t, 0, 5, now0), now0))
		must(t, l.Flush())
		remove := m.Inject(vfs.Fault{Op: vfs.OpOpen, Pattern: "*0009.log", Err: syscall.EMFILE})
		if err := l.TruncateFullyTo(9); !vfs.Heals(err) {
			t.Fatalf("without handles: %v", err)
		}
		for name, change := range map[string]func() error{
			"append":   func() error { return l.Append(plain(t, 9, 1, now0), now0) },
			"flush":    l.Flush,
			"begin":    func() error { _, err := l.BeginFlush(); return err },
			"roll":     func() error { return l.Roll(now0) },
			"truncate": func() error { return l.TruncateTo(9) },
			"advance":  func() error { return l.AdvanceStart(9) },
			"retain":   func() error { _, err := l.Retain(now0, 9); return err },
			"dirty":    func() error { _, err := l.Dirty(now0, 9); return err },
			"compact":  func() error { _, err := l.Compact(now0, 9, CompactBounds{}); return err },
		} {
			if err := change(); !vfs.Heals(err) {
				t.Errorf("%s gives %v", name, err)
			}
		}
		if s, err := l.Read(ReadRequest{From: 9, Limit: 9, MaxBytes: 1}); err != nil || s.Len != 0 {
			t.Errorf("a read gives %d bytes, %v", s.Len, err)
		}
		remove()
		if closed {
			must(t, l.Close())
			l, _ = mustOpen(t, m, Options{Clean: true})
		} else {
			must(t, l.TruncateFullyTo(9))
		}
		if l.StartOffset() != 9 || l.EndOffset() != 9 {
			t.Errorf("log is [%d, %d), want [9, 9)", l.StartOffset(), l.EndOffset())
		}
		must(t, l.Append(plain(t, 9, 1, now0), now0))
		must(t, errors.Join(l.Flush(), l.Close()))
	}
}
