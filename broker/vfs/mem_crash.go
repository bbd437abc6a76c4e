package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// sectorBytes is the unit that a disk writes whole or not at all.
const sectorBytes = 512

// Crash is a loss of power: what was synced stays, and of the rest a part that the seed decides. Handles and locks of
// before are dead; faults, quota and clock stay as they are.
func (m *Mem) Crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.crash(m.rnd)
}

// CrashHard is a loss of power that takes all that was not synced.
func (m *Mem) CrashHard() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.crash(nil)
}

// CrashClone is what a crash now would leave, as a file system of its own without faults; m goes on undisturbed.
func (m *Mem) CrashClone(seed uint64) *Mem {
	c := NewMem(seed)
	m.mu.Lock()
	defer m.mu.Unlock()
	c.root = cloneDir(m.root, map[*memFile]*memFile{}, map[*memDir]*memDir{})
	c.quota, c.now = m.quota, m.now
	c.crash(c.rnd)
	return c
}

// crash keeps a part that rnd draws, or nothing when it is nil.
func (m *Mem) crash(rnd *rand.Rand) {
	m.epoch++
	clear(m.locks)
	m.used = 0
	m.crashDir(m.root, rnd, map[*memFile]bool{})
}

// crashDir settles the names in a folder, then what they name. A file may for a moment have had two names, of which
// the crash keeps both: the rename is one change, but its removal side may be followed by a new file of the old name.
func (m *Mem) crashDir(d *memDir, rnd *rand.Rand, seen map[*memFile]bool) {
	kept := 0
	if len(d.pending) > 0 && rnd != nil {
		kept = rnd.IntN(len(d.pending) + 1)
	}
	for _, c := range d.pending[:kept] {
		applyNames(d.durable, c)
	}
	d.pending = nil
	d.entries = maps.Clone(d.durable)
	for _, name := range slices.Sorted(maps.Keys(d.entries)) {
		switch n := d.entries[name].(type) {
		case *memDir:
			m.crashDir(n, rnd, seen)
		case *memFile:
			if seen[n] {
				continue
			}
			seen[n] = true
			n.crash(rnd)
			n.links, n.handles = 1, 0
			m.used += int64(len(n.data))
		}
	}
}

// crash settles the bytes of a file. Parts of it that were not synced are kept, lost, or zero where the file grew.
func (f *memFile) crash(rnd *rand.Rand) {
	clean := len(f.dirty) == 0 && len(f.data) == len(f.durable)
	if clean {
		f.data = slices.Clone(f.durable)
		return
	}
	const (
		keepNone = iota
		keepAll
		keepPrefix // what a log that was written in order looks like
		keepSome   // sectors at random
		ways
	)
	way := keepNone
	if rnd != nil {
		way = rnd.IntN(ways)
	}
	size := int64(len(f.data))
	cut := size
	switch way {
	case keepNone:
		f.data = slices.Clone(f.durable)
		f.dirty = nil
		return
	case keepPrefix:
		lo := int64(0)
		if len(f.dirty) > 0 {
			lo = min(f.dirty[0].first, size)
		}
		cut = lo + rnd.Int64N(size-lo+1)
		// The size reaches the disk apart from the bytes: sometimes zeros follow.
		if rnd.IntN(2) == 0 {
			size = max(cut, min(int64(len(f.durable)), size))
		}
	case keepSome:
		if rnd.IntN(4) == 0 {
			size = max(size, int64(len(f.durable))) // a truncation that did not reach the disk
		}
	}
	out := make([]byte, size)
	copy(out, f.durable)
	for _, d := range f.dirty {
		for first := d.first; first < d.next; {
			next := min((first/sectorBytes+1)*sectorBytes, d.next)
			if way == keepAll || way == keepPrefix || rnd.IntN(2) == 0 {
				to := min(next, cut, int64(len(f.data)))
				if to > first {
					copy(out[first:to], f.data[first:to])
				}
			}
			first = next
		}
	}
	f.data, f.durable, f.dirty = out, slices.Clone(out), nil
}

func cloneDir(d *memDir, files map[*memFile]*memFile, dirs map[*memDir]*memDir) *memDir {
	if c, ok := dirs[d]; ok {
		return c
	}
	c := newMemDir()
	dirs[d] = c
	node := func(n any) any {
		switch n := n.(type) {
		case *memDir:
			return cloneDir(n, files, dirs)
		case *memFile:
			return cloneFile(n, files)
		}
		return nil
	}
	for name, n := range d.entries { // order does not matter: maps are copied into maps
		c.entries[name] = node(n)
	}
	for name, n := range d.durable {
		c.durable[name] = node(n)
	}
	for _, p := range d.pending {
		change := slices.Clone(p)
		for i := range change {
			change[i].node = node(change[i].node)
		}
		c.pending = append(c.pending, change)
	}
	return c
}

func cloneFile(f *memFile, files map[*memFile]*memFile) *memFile {
	if c, ok := files[f]; ok {
		return c
	}
	c := &memFile{data: slices.Clone(f.data), durable: slices.Clone(f.durable), dirty: slices.Clone(f.dirty), links: f.links, modTime: f.modTime}
	files[f] = c
	return c
}
