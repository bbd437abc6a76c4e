package vfs

import (
	"path"
	"slices"
)

// Op is an operation that a fault may hit.
type Op uint8

// The operations of FS and File.
const (
	OpOpen Op = iota
	OpRead
	OpWrite
	OpSync
	OpTruncate
	OpRename // named by the old name
	OpRemove
	OpMkdir
	OpReadDir
	OpStat
	OpSyncDir
	opCount
)

var opNames = [opCount]string{"open", "read", "write", "sync", "truncate", "rename", "remove", "mkdir", "readdir", "stat", "syncdir"}

// String is the operation's name as errors show it.
func (op Op) String() string { return opNames[op] }

// Fault makes an operation give an error.
type Fault struct {
	Op      Op
	Pattern string // as path.Match, of the last element of the name: "*.log"; empty: any
	Err     error
	Skip    int  // matching calls to let pass first
	Times   int  // calls to hit then; 0: all
	Partial bool // a write writes a random part first
}

type fault struct {
	Fault
	hits int
}

// partialError lets a write go on with a part of its bytes.
type partialError struct{ error }

func (e *partialError) Unwrap() error { return e.error }

// Inject adds a fault; remove takes it away again.
func (m *Mem) Inject(f Fault) (remove func()) {
	p := &fault{Fault: f}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, p)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.faults = slices.DeleteFunc(m.faults, func(q *fault) bool { return q == p })
	}
}

// Observe calls fn at the start of each operation, with the bytes of a read or write: to count them, or to charge
// time for them in a simulation. fn must not call the file system.
func (m *Mem) Observe(fn func(op Op, name string, bytes int)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onOp = fn
}

// begin reports an operation and gives the error of the first fault that hits it. Called with m.mu held.
func (m *Mem) begin(op Op, name string, bytes int) error {
	if m.onOp != nil {
		m.onOp(op, name, bytes)
	}
	for _, f := range m.faults {
		if f.Op != op {
			continue
		}
		if ok, _ := path.Match(f.Pattern, path.Base(name)); !ok && f.Pattern != "" {
			continue
		}
		f.hits++
		if f.hits <= f.Skip || f.Times > 0 && f.hits > f.Skip+f.Times {
			continue
		}
		if f.Partial && op == OpWrite {
			return &partialError{f.Err}
		}
		return f.Err
	}
	return nil
}
