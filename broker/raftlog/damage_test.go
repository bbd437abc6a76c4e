package raftlog

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// fill writes a few entries, votes and a snapshot, and gives what must be found again.
func fill(t *testing.T, fsys vfs.FS) *Log {
	t.Helper()
	l, err := Open(fsys, "q", testOptions())
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(20) {
		save(t, l, i+1, 1+i/8)
		if i == 12 {
			if err := l.SaveSnapshot(10, &raftpb.ConfState{Voters: []uint64{1, 2}}, []byte("state of ten")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.file.Sync(); err != nil { // the last seal, so that clones have it
		t.Fatal(err)
	}
	return l
}

func save(t *testing.T, l *Log, index, term uint64) {
	t.Helper()
	e := &raftpb.Entry{Index: &index, Term: &term, Data: []byte(fmt.Sprintf("entry %d of some length", index))}
	hs := hardState{term, 1, index}
	if err := l.Save(Update{Entries: []*raftpb.Entry{e}, HardState: hs.proto(), Sync: true}); err != nil {
		t.Fatal(err)
	}
}

// TestEachFlippedBitIsNoticed damages every byte of every file in turn: Open refuses, or nothing that was promised is missing.
func TestEachFlippedBitIsNoticed(t *testing.T) {
	mem := vfs.NewMem(1)
	want := fill(t, mem)
	entries, err := mem.ReadDir("q")
	if err != nil {
		t.Fatal(err)
	}
	survived := 0
	for _, e := range entries {
		for pos := range e.Size {
			c := mem.CrashClone(1)
			flip(t, c, "q/"+e.Name, pos)
			l, err := Open(c, "q", testOptions())
			switch {
			case errors.Is(err, ErrCorrupt):
			case err != nil:
				t.Fatalf("%s at %d: %v, want ErrCorrupt", e.Name, pos, err)
			case l.hard != want.hard || l.lastIndex() != want.lastIndex() || l.snap != want.snap:
				t.Fatalf("%s at %d: lost something without a word: %v, index %d", e.Name, pos, l.hard, l.lastIndex())
			default:
				survived++
			}
		}
	}
	if survived != frameBytes { // the seal at the end holds no more than that
		t.Errorf("%d flips did no harm, want %d", survived, frameBytes)
	}
}

func flip(t *testing.T, fsys vfs.FS, name string, pos int64) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, pos); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b, pos); err != nil {
		t.Fatal(err)
	}
}

func TestMissingFilesAreNoticed(t *testing.T) {
	mem := vfs.NewMem(1)
	want := fill(t, mem)
	entries, err := mem.ReadDir("q")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 3 {
		t.Fatalf("want several files: %v", entries)
	}
	for _, e := range entries {
		c := mem.CrashClone(1)
		if err := c.Remove("q/" + e.Name); err != nil {
			t.Fatal(err)
		}
		l, err := Open(c, "q", testOptions())
		switch {
		case errors.Is(err, ErrCorrupt):
		case err != nil:
			t.Errorf("without %s: %v", e.Name, err)
		case e.Name == walName(want.number): // the newest wal file leaves no trace
		case l.hard != want.hard || l.lastIndex() != want.lastIndex() || l.snap != want.snap:
			t.Errorf("without %s: lost something without a word", e.Name)
		}
	}
}

func TestForeignFoldersAreRefused(t *testing.T) {
	mem := vfs.NewMem(1)
	fill(t, mem).Close()
	for _, id := range []Identity{
		{ClusterID: "c", Node: 2, Directory: testIdentity.Directory},
		{ClusterID: "c", Node: 1, Directory: kafka.DirectoryID{8}},
		{ClusterID: "d", Node: 1, Directory: testIdentity.Directory},
	} {
		o := testOptions()
		o.Identity = id
		if _, err := Open(mem, "q", o); !errors.Is(err, ErrForeign) {
			t.Errorf("opened as %+v: %v", id, err)
		}
	}
	o := testOptions()
	o.Identity.ClusterID = ""
	l, err := Open(mem, "q", o)
	if err != nil || l.Identity().ClusterID != "c" {
		t.Fatalf("opened without cluster id: %v", err)
	}
}

// TestDiskErrorsTakeTheLogOffline fails each kind of operation once: the call tells, every later one too, and what was promised is there after a restart.
func TestDiskErrorsTakeTheLogOffline(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpWrite, vfs.OpSync} {
		mem := vfs.NewMem(1)
		l := fill(t, mem)
		last := l.lastIndex()
		mem.Inject(vfs.Fault{Op: op, Err: syscall.EIO, Times: 1, Partial: true})
		index, term := last+1, uint64(9)
		u := Update{Entries: []*raftpb.Entry{{Index: &index, Term: &term}}, Sync: true}
		if err := l.Save(u); !errors.Is(err, ErrOffline) || !errors.Is(err, syscall.EIO) {
			t.Fatalf("%v: %v", op, err)
		}
		if err := l.Save(u); !errors.Is(err, ErrOffline) {
			t.Fatalf("%v, again: %v", op, err)
		}
		if err := l.SaveSnapshot(15, &raftpb.ConfState{}, nil); !errors.Is(err, ErrOffline) {
			t.Fatalf("%v, snapshot: %v", op, err)
		}
		again, err := Open(mem.CrashClone(2), "q", testOptions())
		if err != nil || again.lastIndex() < last {
			t.Fatalf("%v: %v, index %d", op, err, again.lastIndex())
		}
	}
}

// TestPagesThatAFailedFsyncLeftBehindAreWrittenAgain: a process dies of a failed fsync, the next one reads its pages from the cache and builds
// on them, and then the power fails.
func TestPagesThatAFailedFsyncLeftBehindAreWrittenAgain(t *testing.T) {
	for seed := range uint64(30) {
		mem := vfs.NewMem(seed)
		l := fill(t, mem)
		last := l.lastIndex()
		mem.Inject(vfs.Fault{Op: vfs.OpSync, Err: syscall.EIO, Times: 1})
		index, term := last+1, uint64(9)
		u := Update{Entries: []*raftpb.Entry{{Index: &index, Term: &term}}, HardState: hardState{9, 3, last}.proto(), Sync: true}
		if err := l.Save(u); !errors.Is(err, ErrOffline) {
			t.Fatal(err)
		}
		l, err := Open(mem, "q", testOptions())
		if err != nil {
			t.Fatal(err)
		}
		save(t, l, l.lastIndex()+1, 10)
		again, err := Open(mem.CrashClone(seed), "q", testOptions())
		if err != nil || again.hard != l.hard || again.lastIndex() != l.lastIndex() {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func TestFullDiskChangesNothingAndHeals(t *testing.T) {
	for room := range int64(150) {
		mem := vfs.NewMem(uint64(room))
		l := fill(t, mem)
		mem.SetQuota(mem.Used() + room)
		last := l.lastIndex()
		index, term := last+1, uint64(9)
		hs := hardState{9, 3, last}
		u := Update{Entries: []*raftpb.Entry{{Index: &index, Term: &term, Data: []byte(strings.Repeat("x", 60))}}, HardState: hs.proto(), Sync: true}
		err := l.Save(u)
		if err != nil {
			if !vfs.IsFull(err) || l.Err() != nil || l.lastIndex() != last {
				t.Fatalf("room %d: %v", room, err)
			}
			mem.SetQuota(-1)
			if err := l.Save(u); err != nil {
				t.Fatalf("room %d: again: %v", room, err)
			}
		}
		again, err := Open(mem.CrashClone(2), "q", testOptions())
		if err != nil || again.hard != hs || again.lastIndex() != index {
			t.Fatalf("room %d: %v", room, err)
		}
	}
}

// Too few handles while a new file is begun, at each step of it: nothing changes, and the log that a crash then leaves has the
// vote of the last Save that succeeded.
func TestTooFewHandlesChangeNothingAndHeal(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpOpen, vfs.OpSyncDir} {
		for skip := range 3 {
			mem := vfs.NewMem(uint64(skip))
			l := fill(t, mem)
			term := l.hard.term
			for refused := 0; refused < 3; term++ {
				remove := mem.Inject(vfs.Fault{Op: op, Err: syscall.EMFILE, Skip: skip})
				hs := hardState{term + 1, 3, l.lastIndex()}
				index := l.lastIndex() + 1
				u := Update{Entries: []*raftpb.Entry{{Index: &index, Term: &hs.term, Data: make([]byte, 90)}}, HardState: hs.proto(), Sync: true}
				err := l.Save(u)
				remove()
				if err != nil {
					refused++
					if !vfs.IsHandleLimit(err) || l.Err() != nil || l.hard.term != term {
						t.Fatalf("%v after %d calls: %v, offline: %v", op, skip, err, l.Err())
					}
					if again, err := Open(mem.CrashClone(1), "q", testOptions()); err != nil || again.hard != l.hard || again.lastIndex() != index-1 {
						t.Fatalf("%v after %d calls: a crash after the refusal leaves %+v, %v, want %+v", op, skip, again, err, l.hard)
					}
					if err := l.Save(u); err != nil {
						t.Fatal(err)
					}
				}
				if again, err := Open(mem.CrashClone(1), "q", testOptions()); err != nil || again.hard != hs || again.lastIndex() != index {
					t.Fatalf("%v after %d calls: reopened %+v, %v, want %+v", op, skip, again, err, hs)
				}
				if index > 400 {
					break // this step never needs a handle
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestFullDiskPutsASnapshotOff(t *testing.T) {
	mem := vfs.NewMem(3)
	l := fill(t, mem)
	mem.SetQuota(mem.Used() + 10)
	err := l.SaveSnapshot(18, &raftpb.ConfState{Voters: []uint64{1}}, make([]byte, 500))
	if !vfs.IsFull(err) || l.Err() != nil || l.snap.index != 10 {
		t.Fatalf("on a full disk: %v, snapshot %v", err, l.snap)
	}
	mem.SetQuota(-1)
	if err := l.SaveSnapshot(18, &raftpb.ConfState{Voters: []uint64{1}}, make([]byte, 500)); err != nil {
		t.Fatal(err)
	}
	again, err := Open(mem.CrashClone(2), "q", testOptions())
	if err != nil || again.snap.index != 18 {
		t.Fatal(err, again)
	}
}

// TestOldFilesGo checks that the folder does not grow with the history.
func TestOldFilesGo(t *testing.T) {
	mem := vfs.NewMem(4)
	l, err := Open(mem, "q", testOptions())
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(500) {
		save(t, l, i+1, 1)
		if i%20 == 19 {
			if err := l.SaveSnapshot(i, &raftpb.ConfState{Voters: []uint64{1}}, []byte("state")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s := l.Sizes(); s.Files > 5 || len(l.entries) > 30 {
		t.Errorf("%d files, %d entries in memory", s.Files, len(l.entries))
	}
	entries, _ := mem.ReadDir("q")
	if len(entries) > 6 {
		t.Errorf("files %v", entries)
	}
}

// FuzzOpen feeds Open a damaged wal file: an error or a log, never a panic.
func FuzzOpen(f *testing.F) {
	mem := vfs.NewMem(1)
	l, _ := Open(mem, "q", Options{Identity: testIdentity})
	index, term := uint64(1), uint64(1)
	_ = l.Save(Update{Entries: []*raftpb.Entry{{Index: &index, Term: &term, Data: []byte("x")}}, HardState: hardState{1, 1, 1}.proto(), Sync: true})
	b, _ := readFile(mem, "q/"+walName(1), 1<<20)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		c := vfs.NewMem(1)
		if err := c.MkdirAll("q"); err != nil {
			t.Fatal(err)
		}
		if err := vfs.WriteFileAtomic(c, "q/"+walName(1), b); err != nil {
			t.Fatal(err)
		}
		if l, err := Open(c, "q", Options{Identity: testIdentity}); err == nil {
			goOn(t, l, 0)
		}
	})
}

// What a follower that was held up gets at once goes into several files: one of all of it would be longer than Open reads.
func TestAnUpdateOfAnyLengthCanBeReadAgain(t *testing.T) {
	disk := vfs.NewMem(5)
	o := Options{Identity: testIdentity}
	l, err := Open(disk, "q", o)
	if err != nil {
		t.Fatal(err)
	}
	const n, size = 15, 16 << 20
	u := Update{Sync: true, HardState: hardState{term: 1, commit: 0}.proto()}
	data := make([]byte, size)
	for i := range uint64(n) {
		index, term := i+1, uint64(1)
		u.Entries = append(u.Entries, &raftpb.Entry{Index: &index, Term: &term, Data: data})
	}
	if err := l.Save(u); err != nil {
		t.Fatal(err)
	}
	files := l.Sizes().Files
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(disk, "q", o); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if last, _ := l.LastIndex(); last != n || files < 3 || l.Sizes().Files != files {
		t.Errorf("%d entries in %d files, in %d before, want %d in several", last, l.Sizes().Files, files, n)
	}
}
