package raftlog

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// powerCut is a file system that panics at its left-th operation that changes something.
type powerCut struct {
	vfs.FS
	left int
}

type cutFile struct {
	vfs.File
	p *powerCut
}

var errCut = errors.New("power cut")

func (p *powerCut) step() {
	p.left--
	if p.left == 0 {
		panic(errCut)
	}
}

func (p *powerCut) OpenFile(name string, flag int) (vfs.File, error) {
	p.step()
	f, err := p.FS.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	return &cutFile{f, p}, nil
}
func (p *powerCut) MkdirAll(dir string) error    { p.step(); return p.FS.MkdirAll(dir) }
func (p *powerCut) Rename(from, to string) error { p.step(); return p.FS.Rename(from, to) }
func (p *powerCut) Remove(name string) error     { p.step(); return p.FS.Remove(name) }
func (p *powerCut) SyncDir(dir string) error     { p.step(); return p.FS.SyncDir(dir) }
func (p *powerCut) Lock(name string) (io.Closer, error) {
	return p.FS.Lock(name)
}
func (f *cutFile) WriteAt(b []byte, off int64) (int, error) {
	f.p.step()
	return f.File.WriteAt(b, off)
}
func (f *cutFile) Truncate(size int64) error { f.p.step(); return f.File.Truncate(size) }
func (f *cutFile) Sync() error               { f.p.step(); return f.File.Sync() }

// model is what a log must hold.
type model struct {
	hard hardState
	term map[uint64]uint64 // of each entry above snap
	last uint64
	snap mark
}

func (m model) clone() model {
	c := m
	c.term = map[uint64]uint64{}
	for i, t := range m.term {
		c.term[i] = t
	}
	return c
}

var testIdentity = Identity{ClusterID: "c", Node: 1, Directory: kafka.DirectoryID{7}}

func testOptions() Options {
	return Options{Identity: testIdentity, FileBytes: 700, TrailingEntries: 3, splitBytes: 1}
}

// workload drives a log as raft would. acked is what was promised, next what the call under way makes of it.
type workload struct {
	rnd         *rand.Rand
	log         *Log
	acked, next model
}

func (w *workload) step() error {
	m := w.acked.clone()
	m.term[m.snap.index] = m.snap.term
	u := Update{Sync: true}
	switch k := w.rnd.IntN(20); {
	case k < 2: // a vote in a new term
		m.hard.term += 1 + w.rnd.Uint64N(2)
		m.hard.vote = 1 + w.rnd.Uint64N(3)
		u.HardState = m.hard.proto()
	case k < 12: // entries, sometimes over uncommitted ones
		if m.hard.term == 0 {
			m.hard.term = 1
		}
		first := m.last + 1
		if m.last > m.hard.commit && w.rnd.IntN(3) == 0 {
			first = m.hard.commit + 1 + w.rnd.Uint64N(m.last-m.hard.commit)
			m.hard.term++
			m.hard.vote = 0
		}
		for i := range 1 + w.rnd.Uint64N(4) {
			idx, term := first+i, m.hard.term
			u.Entries = append(u.Entries, &raftpb.Entry{Index: &idx, Term: &term, Data: make([]byte, w.rnd.IntN(90))})
			m.term[idx], m.last = term, idx
		}
		u.HardState = m.hard.proto()
	case k < 15: // commit moves, not synced
		if m.last > m.hard.commit {
			m.hard.commit += w.rnd.Uint64N(m.last-m.hard.commit) + 1
		}
		u.HardState, u.Sync = m.hard.proto(), false
	case k < 18: // our own snapshot
		if m.hard.commit == m.snap.index {
			return nil
		}
		m.snap = mark{m.hard.commit, m.term[m.hard.commit]}
		w.next = m
		err := w.log.SaveSnapshot(m.snap.index, &raftpb.ConfState{Voters: []uint64{1, 2}}, make([]byte, w.rnd.IntN(300)))
		if err == nil {
			w.acked = m
		}
		return err
	default: // a snapshot from a leader
		m.hard.term++
		m.hard.vote = 0
		index, term := m.last+1+w.rnd.Uint64N(5), m.hard.term
		m.snap, m.last, m.hard.commit = mark{index, term}, index, index
		u.HardState = m.hard.proto()
		u.Snapshot = &raftpb.Snapshot{Data: []byte("image"), Metadata: &raftpb.SnapshotMetadata{
			Index: &index, Term: &term, ConfState: &raftpb.ConfState{Voters: []uint64{1}}}}
	}
	w.next = m
	if err := w.log.Save(u); err != nil {
		return err
	}
	if u.Sync {
		w.acked = m
	} else {
		w.acked.hard.commit = m.hard.commit // may be lost: check allows a lower commit
	}
	return nil
}

// check compares a recovered log with what was promised and what was under way.
func check(l *Log, acked, next model) error {
	switch {
	case l.hard.term < acked.hard.term || l.hard.term > max(next.hard.term, acked.hard.term):
		return fmt.Errorf("term %d, promised %d", l.hard.term, acked.hard.term)
	case l.hard.term == acked.hard.term && acked.hard.vote != 0 && l.hard.vote != acked.hard.vote && next.hard != l.hard:
		return fmt.Errorf("vote %d in term %d, promised %d", l.hard.vote, l.hard.term, acked.hard.vote)
	case l.snap != acked.snap && l.snap != next.snap:
		return fmt.Errorf("snapshot %v, promised %v", l.snap, acked.snap)
	case l.hard.commit > max(acked.hard.commit, next.hard.commit):
		return fmt.Errorf("commit %d, was never above %d", l.hard.commit, next.hard.commit)
	}
	if l.snap == next.snap && next.snap != acked.snap && next.last == next.snap.index {
		return nil // the received snapshot replaced everything
	}
	for i := l.snap.index + 1; i <= acked.last; i++ {
		got, err := l.Term(i)
		overwritten := next.term[i] != acked.term[i] || i > next.last
		if err != nil && !overwritten && !anyOverwritten(acked, next, i) {
			return fmt.Errorf("entry %d is lost", i)
		}
		if err == nil && got != acked.term[i] && got != next.term[i] {
			return fmt.Errorf("entry %d has term %d, promised %d", i, got, acked.term[i])
		}
	}
	return nil
}

// anyOverwritten tells whether the update under way replaces an entry at or before i, which drops those behind it.
func anyOverwritten(acked, next model, i uint64) bool {
	for j := acked.snap.index + 1; j <= i; j++ {
		if next.term[j] != acked.term[j] {
			return true
		}
	}
	return false
}

// TestCrashAtEveryOperation cuts the power at each operation of random workloads, several ways each, and goes on after recovery.
func TestCrashAtEveryOperation(t *testing.T) {
	seeds, steps := uint64(12), 40
	for seed := range seeds {
		for cut := 1; ; cut++ {
			mem := vfs.NewMem(seed)
			p := &powerCut{FS: mem, left: cut}
			w := &workload{rnd: rand.New(rand.NewPCG(seed, 1))}
			w.acked.term, w.next.term = map[uint64]uint64{}, map[uint64]uint64{}
			finished := runUntilCut(t, p, w, steps)
			for variant := range uint64(3) {
				after := mem.CrashClone(seed<<32 + uint64(cut)<<8 + variant)
				l, err := Open(after, "q", testOptions())
				if err != nil {
					t.Fatalf("seed %d, cut %d, variant %d: %v", seed, cut, variant, err)
				}
				if err := check(l, w.acked, w.next); err != nil {
					t.Fatalf("seed %d, cut %d, variant %d: %v", seed, cut, variant, err)
				}
				again := after.CrashClone(variant) // recovery changes nothing that a second crash could undo
				l2, err := Open(again, "q", testOptions())
				if err != nil {
					t.Fatalf("seed %d, cut %d, variant %d, second crash: %v", seed, cut, variant, err)
				}
				if l2.hard != l.hard || l2.lastIndex() != l.lastIndex() || l2.snap != l.snap {
					t.Fatalf("seed %d, cut %d, variant %d: second recovery has %v %d %v, first %v %d %v", seed, cut, variant,
						l2.hard, l2.lastIndex(), l2.snap, l.hard, l.lastIndex(), l.snap)
				}
				goOn(t, l, seed)
			}
			if finished {
				break
			}
		}
	}
}

func runUntilCut(t *testing.T, p *powerCut, w *workload, steps int) (finished bool) {
	defer func() {
		if r := recover(); r != nil && r != errCut {
			panic(r)
		}
	}()
	l, err := Open(p, "q", testOptions())
	if err != nil {
		t.Fatal(err)
	}
	w.log = l
	for range steps {
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
	}
	return true
}

// goOn appends to a recovered log.
func goOn(t *testing.T, l *Log, seed uint64) {
	t.Helper()
	idx, term := l.lastIndex()+1, l.hard.term+1
	hs := hardState{term, 1, l.hard.commit}
	if err := l.Save(Update{Entries: []*raftpb.Entry{{Index: &idx, Term: &term}}, HardState: hs.proto(), Sync: true}); err != nil {
		t.Fatalf("seed %d: append after recovery: %v", seed, err)
	}
}
