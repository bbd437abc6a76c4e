package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Mem is a file system in memory, for tests and simulation. The same calls after the same seed give the same result,
// crashes included, as long as they come in the same order.
type Mem struct {
	mu sync.Mutex
	// Guarded by mu:
	rnd    *rand.Rand
	root   *memDir
	epoch  int             // crashes so far; a handle of an earlier epoch is dead
	locks  map[string]bool // names locked
	faults []*fault
	quota  int64 // bytes that all files together may take; negative: no limit
	used   int64
	now    kafka.Timestamp
	onOp   func(Op, string, int)
}

// NewMem makes an empty file system whose only folders are "/" and ".".
func NewMem(seed uint64) *Mem {
	return &Mem{rnd: rand.New(rand.NewPCG(seed, 0x66616972)), root: newMemDir(), locks: map[string]bool{}, quota: -1}
}

// SetNow sets the time that writes give to files; it stands still otherwise.
func (m *Mem) SetNow(now kafka.Timestamp) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = now
}

// SetQuota bounds the bytes of all files; a write beyond it writes what fits and gives ENOSPC. Negative: no bound.
func (m *Mem) SetQuota(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.quota = bytes
}

// Used is the number of bytes that all files take, also removed ones that are still open.
func (m *Mem) Used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// memDir is a folder. What a crash leaves of its names is durable plus a prefix of pending.
type memDir struct {
	entries map[string]any // *memFile or *memDir
	durable map[string]any
	pending []nameChange // since the last SyncDir, in order
}

// nameChange is one atomic change of names in a folder; a nil value removes the name.
type nameChange []struct {
	name string
	node any
}

func newMemDir() *memDir {
	return &memDir{entries: map[string]any{}, durable: map[string]any{}}
}

func (d *memDir) apply(c nameChange) {
	applyNames(d.entries, c)
	d.pending = append(d.pending, c)
}

func applyNames(names map[string]any, c nameChange) {
	for _, e := range c {
		if e.node == nil {
			delete(names, e.name)
		} else {
			names[e.name] = e.node
		}
	}
}

func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// dir finds a folder.
func (m *Mem) dir(name string) (*memDir, error) {
	d := m.root
	name = clean(name)
	for name != "" {
		first, rest, _ := strings.Cut(name, "/")
		switch n := d.entries[first].(type) {
		case *memDir:
			d = n
		case *memFile:
			return nil, syscall.ENOTDIR
		default:
			return nil, fs.ErrNotExist
		}
		name = rest
	}
	return d, nil
}

// parent finds the folder of a name.
func (m *Mem) parent(name string) (*memDir, string, error) {
	dir, base := path.Split(clean(name))
	d, err := m.dir(dir)
	return d, base, err
}

// OpenFile opens or creates a file.
func (m *Mem) OpenFile(name string, flag int) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin(OpOpen, name, 0); err != nil {
		return nil, pathError("open", name, err)
	}
	d, base, err := m.parent(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	var f *memFile
	switch n := d.entries[base].(type) {
	case *memDir:
		return nil, pathError("open", name, syscall.EISDIR)
	case *memFile:
		if flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL {
			return nil, pathError("open", name, fs.ErrExist)
		}
		f = n
	default:
		if flag&os.O_CREATE == 0 {
			return nil, pathError("open", name, fs.ErrNotExist)
		}
		f = &memFile{links: 1, modTime: m.now}
		d.apply(nameChange{{base, f}})
	}
	f.handles++
	if flag&os.O_TRUNC != 0 {
		m.resize(f, 0)
	}
	return &memHandle{m: m, f: f, name: name, epoch: m.epoch, readOnly: flag&(os.O_WRONLY|os.O_RDWR) == 0}, nil
}

// MkdirAll makes folders.
func (m *Mem) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin(OpMkdir, dir, 0); err != nil {
		return pathError("mkdir", dir, err)
	}
	d := m.root
	for _, part := range strings.Split(clean(dir), "/") {
		switch n := d.entries[part].(type) {
		case *memDir:
			d = n
		case *memFile:
			return pathError("mkdir", dir, syscall.ENOTDIR)
		default:
			if part == "" {
				return nil
			}
			child := newMemDir()
			d.apply(nameChange{{part, child}})
			d = child
		}
	}
	return nil
}

// ReadDir lists a folder.
func (m *Mem) ReadDir(dir string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin(OpReadDir, dir, 0); err != nil {
		return nil, pathError("readdir", dir, err)
	}
	d, err := m.dir(dir)
	if err != nil {
		return nil, pathError("readdir", dir, err)
	}
	entries := make([]Entry, 0, len(d.entries))
	for _, name := range slices.Sorted(maps.Keys(d.entries)) {
		e := Entry{Name: name}
		if f, ok := d.entries[name].(*memFile); ok {
			e.Size = int64(len(f.data))
		} else {
			e.IsDir = true
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Stat describes a name.
func (m *Mem) Stat(name string) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin(OpStat, name, 0); err != nil {
		return Info{}, pathError("stat", name, err)
	}
	if clean(name) == "" {
		return Info{IsDir: true}, nil
	}
	d, base, err := m.parent(name)
	if err != nil {
		return Info{}, pathError("stat", name, err)
	}
	switch n := d.entries[base].(type) {
	case *memDir:
		return Info{IsDir: true}, nil
	case *memFile:
		return Info{Size: int64(len(n.data)), ModTime: n.modTime}, nil
	}
	return Info{}, pathError("stat", name, fs.ErrNotExist)
}

// Rename renames inside one folder.
func (m *Mem) Rename(oldName, newName string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin(OpRename, oldName, 0); err != nil {
		return pathError("rename", oldName, err)
	}
	if path.Dir(clean(oldName)) != path.Dir(clean(newName)) {
		return pathError("rename", oldName, fmt.Errorf("to %s: %w", newName, syscall.EXDEV))
	}
	d, from, err := m.parent(oldName)
	if err != nil {
		return pathError("rename", oldName, err)
	}
	node := d.entries[from]
	if node == nil {
		return pathError("rename", oldName, fs.ErrNotExist)
	}
	to := path.Base(clean(newName))
	if to == from {
		return nil
	}
	switch n := d.entries[to].(type) {
	case *memDir:
		if _, ok := node.(*memDir); !ok || len(n.entries) > 0 {
			return pathError("rename", oldName, fmt.Errorf("to %s: %w", newName, fs.ErrExist))
		}
	case *memFile:
		if _, ok := node.(*memFile); !ok {
			return pathError("rename", oldName, fmt.Errorf("to %s: %w", newName, syscall.ENOTDIR))
		}
		m.unlink(n)
	}
	d.apply(nameChange{{from, nil}, {to, node}})
	return nil
}

// Remove removes a file or an empty folder.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin(OpRemove, name, 0); err != nil {
		return pathError("remove", name, err)
	}
	d, base, err := m.parent(name)
	if err != nil {
		return pathError("remove", name, err)
	}
	switch n := d.entries[base].(type) {
	case *memDir:
		if len(n.entries) > 0 {
			return pathError("remove", name, syscall.ENOTEMPTY)
		}
	case *memFile:
		m.unlink(n)
	default:
		return pathError("remove", name, fs.ErrNotExist)
	}
	d.apply(nameChange{{base, nil}})
	return nil
}

// RemoveAll removes a folder with all that is in it.
func (m *Mem) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin(OpRemove, name, 0); err != nil {
		return pathError("remove", name, err)
	}
	d, base, err := m.parent(name)
	if err != nil || d.entries[base] == nil {
		return nil
	}
	m.unlinkAll(d.entries[base])
	d.apply(nameChange{{base, nil}})
	return nil
}

// SyncDir makes the names in a folder durable.
func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin(OpSyncDir, dir, 0); err != nil {
		return pathError("sync", dir, err)
	}
	d, err := m.dir(dir)
	if err != nil {
		return pathError("sync", dir, err)
	}
	for _, c := range d.pending {
		applyNames(d.durable, c)
	}
	d.pending = nil
	return nil
}

// Space is a volume of the quota, and of 1 TiB that is always free without one.
func (m *Mem) Space(dir string) (Space, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin(OpStat, dir, 0); err != nil {
		return Space{}, pathError("statfs", dir, err)
	}
	if m.quota < 0 {
		return Space{Total: 1 << 40, Free: 1 << 40}, nil
	}
	return Space{Total: m.quota, Free: max(0, m.quota-m.used)}, nil
}

// Lock locks a name until Close or a crash.
func (m *Mem) Lock(name string) (io.Closer, error) {
	f, err := m.OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	key := clean(name)
	m.mu.Lock()
	taken := m.locks[key]
	m.locks[key] = true
	m.mu.Unlock()
	if taken {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, ErrLocked)
	}
	return &memLock{File: f, m: m, key: key, epoch: f.(*memHandle).epoch}, nil
}

type memLock struct {
	File
	m     *Mem
	key   string
	epoch int
}

func (l *memLock) Close() error {
	l.m.mu.Lock()
	if l.epoch == l.m.epoch {
		delete(l.m.locks, l.key)
	}
	l.m.mu.Unlock()
	return l.File.Close()
}
