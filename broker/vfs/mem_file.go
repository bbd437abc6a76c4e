package vfs

import (
	"errors"
	"io"
	"io/fs"
	"syscall"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// memFile is an inode.
type memFile struct {
	data    []byte     // what readers see
	durable []byte     // what the last Sync left on the disk
	dirty   []interval // parts of data written since then
	links   int        // names, 0 or 1
	handles int
	modTime kafka.Timestamp
}

type interval struct{ first, next int64 }

func (f *memFile) touch(first, next int64) {
	if n := len(f.dirty); n > 0 && first <= f.dirty[n-1].next && first >= f.dirty[n-1].first {
		f.dirty[n-1].next = max(next, f.dirty[n-1].next)
		return
	}
	f.dirty = append(f.dirty, interval{first, next})
}

func (f *memFile) sync() {
	size := len(f.data)
	for len(f.durable) < size {
		f.durable = append(f.durable, make([]byte, size-len(f.durable))...)
	}
	f.durable = f.durable[:size]
	for _, d := range f.dirty {
		if d.first < int64(size) {
			copy(f.durable[d.first:], f.data[d.first:min(d.next, int64(size))])
		}
	}
	f.dirty = nil
}

// resize sets the size; new bytes are zero and not durable.
func (m *Mem) resize(f *memFile, size int64) {
	old := int64(len(f.data))
	m.used += size - old
	f.modTime = m.now
	if size <= old {
		f.data = f.data[:size]
		return
	}
	for int64(len(f.data)) < size {
		f.data = append(f.data, make([]byte, size-int64(len(f.data)))...)
	}
	clear(f.data[old:])
	f.touch(old, size)
}

func (m *Mem) unlink(f *memFile) {
	f.links--
	m.forget(f)
}

func (m *Mem) forget(f *memFile) {
	if f.links == 0 && f.handles == 0 {
		m.used -= int64(len(f.data))
	}
}

func (m *Mem) unlinkAll(node any) {
	if f, ok := node.(*memFile); ok {
		m.unlink(f)
		return
	}
	for _, n := range node.(*memDir).entries { // order does not matter: only counters change
		m.unlinkAll(n)
	}
}

// ErrCrashed is the kind of error of a handle that was opened before a crash.
var ErrCrashed = errors.New("the machine crashed since the file was opened")

type memHandle struct {
	m        *Mem
	f        *memFile
	name     string
	epoch    int
	readOnly bool
	closed   bool
}

// begin checks the handle and faults. Called with m.mu held.
func (h *memHandle) begin(op Op, bytes int) error {
	switch {
	case h.closed:
		return pathError(op.String(), h.name, fs.ErrClosed)
	case h.epoch != h.m.epoch:
		return pathError(op.String(), h.name, ErrCrashed)
	case h.readOnly && (op == OpWrite || op == OpTruncate):
		return pathError(op.String(), h.name, syscall.EBADF)
	}
	if err := h.m.begin(op, h.name, bytes); err != nil {
		return pathError(op.String(), h.name, err)
	}
	return nil
}

func (h *memHandle) ReadAt(p []byte, off int64) (int, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.begin(OpRead, len(p)); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("read", h.name, syscall.EINVAL)
	}
	if off >= int64(len(h.f.data)) {
		return 0, io.EOF
	}
	n := copy(p, h.f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *memHandle) WriteAt(p []byte, off int64) (int, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	err := h.begin(OpWrite, len(p))
	var partial *partialError
	if err != nil && !errors.As(err, &partial) {
		return 0, err
	}
	n := len(p)
	if partial != nil {
		n = h.m.rnd.IntN(len(p) + 1)
	}
	if grow := off + int64(n) - int64(len(h.f.data)); h.m.quota >= 0 && grow > 0 {
		if room := max(0, h.m.quota-h.m.used); grow > room {
			n = max(0, n-int(grow-room))
			err = pathError("write", h.name, syscall.ENOSPC)
		}
	}
	if n == 0 {
		return 0, err
	}
	end := off + int64(n)
	if end > int64(len(h.f.data)) {
		h.m.resize(h.f, end)
	}
	copy(h.f.data[off:end], p)
	h.f.touch(off, end)
	h.f.modTime = h.m.now
	return n, err
}

func (h *memHandle) Truncate(size int64) error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.begin(OpTruncate, 0); err != nil {
		return err
	}
	h.m.resize(h.f, size)
	return nil
}

// Sync that fails behaves as Linux does: the pages count as clean, so a later Sync succeeds without them.
func (h *memHandle) Sync() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.begin(OpSync, 0); err != nil {
		h.f.dirty = nil
		return err
	}
	h.f.sync()
	return nil
}

func (h *memHandle) Size() (int64, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.begin(OpStat, 0); err != nil {
		return 0, err
	}
	return int64(len(h.f.data)), nil
}

func (h *memHandle) Fd() (uintptr, bool) { return 0, false }

func (h *memHandle) Close() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if h.closed {
		return pathError("close", h.name, fs.ErrClosed)
	}
	h.closed = true
	if h.epoch == h.m.epoch {
		h.f.handles--
		h.m.forget(h.f)
	}
	return nil
}
