package seglog

import (
	"sync"

	"github.com/fairlead-io/fairlead/broker/vfs"
)

// DefaultOpenFiles is the cap of a FilePool made with 0.
const DefaultOpenFiles = 16384

// handleRetry is how many unused files are closed when the system refuses to open one more.
const handleRetry = 64

// FilePool bounds how many files the logs of a broker keep open. Files are opened at their first use and stay open
// until the cap asks for the one that was unused for the longest. Files in use are never closed, so the cap can be
// exceeded by them. When the process has too many files open, unused ones are closed and the open is tried once
// more; if that fails too, the operation fails and heals by itself later.
type FilePool struct {
	limit int

	mu sync.Mutex
	// Guarded by mu:
	open int
	idle handle // ring of handles without users, the longest unused first; a sentinel
}

// NewFilePool makes a pool that keeps at most about limit files open; 0: DefaultOpenFiles.
func NewFilePool(limit int) *FilePool {
	if limit <= 0 {
		limit = DefaultOpenFiles
	}
	p := &FilePool{limit: limit}
	p.idle.prev, p.idle.next = &p.idle, &p.idle
	return p
}

// Open is the number of files that are open now.
func (p *FilePool) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// handle is an open file with users. Fields but file are guarded by the pool's mu.
type handle struct {
	file       vfs.File
	users      int
	owner      *lazyFile // nil once the owner gave it up: then it closes with its last user
	prev, next *handle   // in the idle ring
}

// lazyFile is a file that is open only while it is used, or while the pool has room. Its zero value is closed.
type lazyFile struct {
	h *handle // guarded by the pool's mu
}

// acquire gives the open file; release must follow.
func (p *FilePool) acquire(lf *lazyFile, open func() (vfs.File, error)) (*handle, error) {
	p.mu.Lock()
	if h := lf.h; h != nil {
		p.use(h)
		p.mu.Unlock()
		return h, nil
	}
	p.mu.Unlock()

	f, err := open()
	if vfs.IsHandleLimit(err) && p.closeIdle(handleRetry) {
		f, err = open()
	}
	if err != nil {
		return nil, err
	}

	p.mu.Lock()
	if h := lf.h; h != nil { // somebody else was faster
		p.use(h)
		p.mu.Unlock()
		f.Close()
		return h, nil
	}
	h := &handle{file: f, users: 1, owner: lf}
	lf.h = h
	p.open++
	victims := p.takeIdle(p.open - p.limit)
	p.mu.Unlock()
	closeAll(victims)
	return h, nil
}

// use takes h out of the idle ring. Called with p.mu held.
func (p *FilePool) use(h *handle) {
	if h.users == 0 {
		h.prev.next, h.next.prev = h.next, h.prev
		h.prev, h.next = nil, nil
	}
	h.users++
}

// release ends one use.
func (p *FilePool) release(h *handle) {
	var victims []*handle
	p.mu.Lock()
	h.users--
	if h.users == 0 {
		if h.owner == nil {
			p.open--
			victims = append(victims, h)
		} else {
			last := p.idle.prev
			h.prev, h.next = last, &p.idle
			last.next, p.idle.prev = h, h
			victims = p.takeIdle(p.open - p.limit)
		}
	}
	p.mu.Unlock()
	closeAll(victims)
}

// forget closes the file when its last user is gone; the next acquire opens it anew.
func (p *FilePool) forget(lf *lazyFile) {
	p.mu.Lock()
	h := lf.h
	lf.h = nil
	if h == nil {
		p.mu.Unlock()
		return
	}
	h.owner = nil
	closing := h.users == 0
	if closing {
		h.prev.next, h.next.prev = h.next, h.prev
		p.open--
	}
	p.mu.Unlock()
	if closing {
		h.file.Close()
	}
}

// takeIdle takes up to n unused handles out of the pool. Called with p.mu held.
func (p *FilePool) takeIdle(n int) []*handle {
	var taken []*handle
	for ; n > 0 && p.idle.next != &p.idle; n-- {
		h := p.idle.next
		h.prev.next, h.next.prev = h.next, h.prev
		h.owner.h = nil
		p.open--
		taken = append(taken, h)
	}
	return taken
}

func (p *FilePool) closeIdle(n int) bool {
	p.mu.Lock()
	victims := p.takeIdle(n)
	p.mu.Unlock()
	closeAll(victims)
	return len(victims) > 0
}

// closeAll closes files that were read or written but whose durability is decided by fsync alone, so errors of close
// say nothing that matters.
func closeAll(hs []*handle) {
	for _, h := range hs {
		h.file.Close()
	}
}
