package vfs

import (
	"os"
	"syscall"
	"testing"
)

// Reserved space takes blocks of the disk and leaves size and contents alone.
func TestReserve(t *testing.T) {
	name := t.TempDir() + "/f"
	f, err := OS().OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("abc"), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.(Reserver).Reserve(1 << 20); err != nil {
		t.Fatal(err)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(name, &st); err != nil || st.Size != 3 || st.Blocks*512 < 1<<20 {
		t.Errorf("size %d, %d bytes on the disk, %v; want 3 and 1 MiB", st.Size, st.Blocks*512, err)
	}
	if got, err := ReadFile(OS(), name, 10); string(got) != "abc" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}
