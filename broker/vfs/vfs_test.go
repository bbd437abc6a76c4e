package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
)

// The same transcript holds for the operating system and for memory.
func TestBothFileSystemsBehaveAlike(t *testing.T) {
	root := t.TempDir()
	for _, c := range []struct {
		name string
		fs   FS
		dir  string
	}{{"os", OS(), root}, {"mem", NewMem(1), "/x/y"}} {
		t.Run(c.name, func(t *testing.T) {
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			is := func(err, want error) {
				t.Helper()
				if !errors.Is(err, want) {
					t.Fatalf("error %v, want %v", err, want)
				}
			}
			d := c.dir + "/d"
			must(c.fs.MkdirAll(d))
			must(c.fs.MkdirAll(d))
			_, err := c.fs.OpenFile(d+"/a", os.O_RDWR)
			is(err, fs.ErrNotExist)
			f, err := c.fs.OpenFile(d+"/a", os.O_RDWR|os.O_CREATE|os.O_EXCL)
			must(err)
			_, err = c.fs.OpenFile(d+"/a", os.O_RDWR|os.O_CREATE|os.O_EXCL)
			is(err, fs.ErrExist)
			_, err = f.WriteAt([]byte("hello"), 3)
			must(err)
			buf := make([]byte, 8)
			n, err := f.ReadAt(buf, 0)
			if n != 8 || string(buf) != "\x00\x00\x00hello" {
				t.Fatalf("read %d %q %v", n, buf, err)
			}
			must(f.Truncate(6))
			must(f.Sync())
			if size, err := f.Size(); size != 6 || err != nil {
				t.Fatalf("size %d %v", size, err)
			}
			must(c.fs.Rename(d+"/a", d+"/b"))
			must(c.fs.SyncDir(d))
			list, err := c.fs.ReadDir(d)
			must(err)
			if got := fmt.Sprint(list); got != "[{b false 6}]" {
				t.Fatalf("folder holds %s", got)
			}
			must(c.fs.Remove(d + "/b"))
			if n, err := f.ReadAt(buf[:1], 3); n != 1 || err != nil || buf[0] != 'h' {
				t.Fatalf("read of a removed open file: %d %v", n, err)
			}
			must(f.Close())
			is(f.Close(), fs.ErrClosed)
			is(c.fs.Remove(d+"/b"), fs.ErrNotExist)
			_, err = c.fs.Stat(d + "/b")
			is(err, fs.ErrNotExist)
			must(WriteFileAtomic(c.fs, d+"/w", []byte("one")))
			must(WriteFileAtomic(c.fs, d+"/w", []byte("two")))
			got, err := ReadFile(c.fs, d+"/w", 3)
			must(err)
			if string(got) != "two" {
				t.Fatalf("read %q", got)
			}
			if _, err := ReadFile(c.fs, d+"/w", 2); err == nil {
				t.Fatal("a file over the limit was read")
			}
			l, err := c.fs.Lock(d + "/.lock")
			must(err)
			_, err = c.fs.Lock(d + "/.lock")
			is(err, ErrLocked)
			must(l.Close())
			l, err = c.fs.Lock(d + "/.lock")
			must(err)
			must(l.Close())
			space, err := c.fs.Space(d)
			if err != nil || space.Free <= 0 || space.Total < space.Free {
				t.Fatalf("space %+v %v", space, err)
			}
			must(c.fs.RemoveAll(d))
			must(c.fs.RemoveAll(d))
			_, err = c.fs.ReadDir(d)
			is(err, fs.ErrNotExist)
		})
	}
}

func open(t *testing.T, m *Mem, name string) File {
	t.Helper()
	f, err := m.OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCrashKeepsWhatWasSynced(t *testing.T) {
	for seed := range uint64(200) {
		m := NewMem(seed)
		f := open(t, m, "a")
		synced := bytes.Repeat([]byte("s"), 3000)
		f.WriteAt(synced, 0)
		f.Sync()
		m.SyncDir("/")
		f.WriteAt(bytes.Repeat([]byte("u"), 3000), 3000)
		open(t, m, "b")
		m.Crash()
		got, err := ReadFile(m, "a", 1<<20)
		if err != nil || len(got) < 3000 || !bytes.Equal(got[:3000], synced) {
			t.Fatalf("seed %d: synced bytes are lost: %d bytes, %v", seed, len(got), err)
		}
		if s := strings.Trim(string(got[3000:]), "u\x00"); s != "" {
			t.Fatalf("seed %d: bytes that nobody wrote: %q", seed, s)
		}
		if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, ErrCrashed) {
			t.Fatalf("seed %d: a handle survived the crash: %v", seed, err)
		}
	}
}

func TestHardCrashKeepsOnlyWhatWasSynced(t *testing.T) {
	m := NewMem(1)
	f := open(t, m, "a")
	f.WriteAt([]byte("synced"), 0)
	f.Sync()
	m.SyncDir("/")
	f.WriteAt([]byte("not synced"), 6)
	open(t, m, "b")
	m.CrashHard()
	if got, err := ReadFile(m, "a", 1<<20); string(got) != "synced" || err != nil {
		t.Errorf("%q is left, %v", got, err)
	}
	if list, err := m.ReadDir("/"); len(list) != 1 || err != nil {
		t.Errorf("%v is left, %v", list, err)
	}
}

// Over many seeds each kind of damage that the rules allow happens.
func TestCrashTearsInEveryWay(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(300) {
		m := NewMem(seed)
		f := open(t, m, "a")
		m.SyncDir("")
		f.WriteAt(bytes.Repeat([]byte("u"), 3000), 0)
		open(t, m, "new")
		m.Rename("a", "b")
		c := m.CrashClone(seed)
		list, _ := c.ReadDir("/")
		for _, e := range list {
			if e.Name == "new" {
				seen["create kept"] = true
				continue
			}
			seen["named "+e.Name] = true
			data, _ := ReadFile(c, e.Name, 1<<20)
			switch zeros := bytes.Count(data, []byte{0}); {
			case len(data) == 0:
				seen["lost"] = true
			case len(data) == 3000 && zeros == 0:
				seen["kept"] = true
			case zeros == 0:
				seen["cut"] = true
			case data[0] == 0:
				seen["hole"] = true
			default:
				seen["zero tail"] = true
			}
		}
		if len(list) == 1 {
			seen["create lost"] = true
		}
	}
	for _, want := range []string{"create kept", "create lost", "named a", "named b", "lost", "kept", "cut", "hole", "zero tail"} {
		if !seen[want] {
			t.Errorf("never seen in 300 seeds: %s", want)
		}
	}
}

func TestCrashIsDeterministic(t *testing.T) {
	run := func(seed uint64) string {
		m, r := NewMem(seed), rand.New(rand.NewPCG(seed, 1))
		for i := range 200 {
			name := fmt.Sprintf("d%d/f%d", r.IntN(3), r.IntN(4))
			m.MkdirAll(name[:2])
			f := open(t, m, name)
			f.WriteAt(bytes.Repeat([]byte{byte(i)}, r.IntN(2000)), r.Int64N(4000))
			switch r.IntN(6) {
			case 0:
				f.Sync()
			case 1:
				m.SyncDir(name[:2])
			case 2:
				m.SyncDir("")
			case 3:
				m.Rename(name, name+"x")
			}
			f.Close()
			if r.IntN(40) == 0 {
				m.Crash()
			}
		}
		var out strings.Builder
		dirs, _ := m.ReadDir("")
		total := int64(0)
		for _, d := range dirs {
			files, _ := m.ReadDir(d.Name)
			for _, e := range files {
				data, _ := ReadFile(m, d.Name+"/"+e.Name, 1<<20)
				fmt.Fprintf(&out, "%s/%s %x\n", d.Name, e.Name, data)
				total += int64(len(data))
			}
		}
		if m.Used() != total {
			t.Errorf("seed %d: %d bytes used by files of %d", seed, m.Used(), total)
		}
		return out.String()
	}
	for seed := range uint64(20) {
		if a, b := run(seed), run(seed); a != b {
			t.Fatalf("seed %d gave two results", seed)
		}
	}
}

func TestFaults(t *testing.T) {
	m := NewMem(7)
	f := open(t, m, "dir.log")
	eio := syscall.EIO
	m.Inject(Fault{Op: OpWrite, Pattern: "*.log", Err: eio, Skip: 1, Times: 1})
	for i, want := range []error{nil, eio, nil} {
		if _, err := f.WriteAt([]byte("x"), int64(i)); !errors.Is(err, want) {
			t.Errorf("write %d: %v, want %v", i, err, want)
		}
	}
	remove := m.Inject(Fault{Op: OpSync, Err: eio})
	if err := f.Sync(); !errors.Is(err, eio) {
		t.Errorf("sync: %v", err)
	}
	remove()
	if err := f.Sync(); err != nil {
		t.Errorf("sync after the fault: %v", err)
	}
	m.SyncDir("")
	m.Crash()
	if got, _ := ReadFile(m, "dir.log", 10); strings.Contains(string(got), "x") {
		t.Errorf("bytes whose sync failed came back: %q", got)
	}
	f = open(t, m, "dir.log")
	m.Inject(Fault{Op: OpWrite, Err: syscall.ENOSPC, Partial: true, Times: 1})
	n, err := f.WriteAt(make([]byte, 1000), 0)
	if !IsFull(err) || n == 1000 {
		t.Errorf("partial write: %d %v", n, err)
	}
}

func TestQuota(t *testing.T) {
	m := NewMem(7)
	m.SetQuota(10)
	f := open(t, m, "a")
	if n, err := f.WriteAt(make([]byte, 8), 0); n != 8 || err != nil {
		t.Fatal(n, err)
	}
	n, err := f.WriteAt(make([]byte, 8), 8)
	if n != 2 || !IsFull(err) {
		t.Fatalf("write beyond the quota: %d %v", n, err)
	}
	want := func(when string, free int64) {
		t.Helper()
		if s, err := m.Space(""); err != nil || s != (Space{Total: 10, Free: free}) {
			t.Errorf("%s: space %+v, %v, want %d of 10 free", when, s, err, free)
		}
	}
	want("full", 0)
	m.Remove("a")
	want("while the removed file is open", 0)
	f.Close()
	want("after the last close", 10)
}

func TestHeals(t *testing.T) {
	f := func(err error, want bool) {
		t.Helper()
		if Heals(fmt.Errorf("doing it: %w", err)) != want {
			t.Errorf("Heals(%v) = %v", err, !want)
		}
	}
	f(syscall.ENOSPC, true)
	f(syscall.EDQUOT, true)
	f(syscall.EMFILE, true)
	f(syscall.EIO, false)
	f(syscall.EROFS, false)
	f(&SyncError{syscall.ENOSPC}, false)
	f(&SyncError{syscall.EMFILE}, true)
	f(nil, false)
}
