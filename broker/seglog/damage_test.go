package seglog

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// questions are answers to look-ups, to be compared before and after damage.
func questions(t testing.TB, l *Log) string {
	t.Helper()
	var out strings.Builder
	for at := l.StartOffset(); at < l.EndOffset(); at += 7 {
		l.hints.clear()
		s, err := l.Read(ReadRequest{From: at, Limit: l.EndOffset(), MaxBytes: 1, AtLeastOneBatch: true})
		must(t, err)
		fmt.Fprintln(&out, at, s.FirstOffset, s.NextOffset, s.Len)
		s.Release()
		got, ok, err := l.OffsetForTimestamp(now0+kafka.Timestamp(at*300), l.EndOffset())
		must(t, err)
		fmt.Fprintln(&out, got, ok)
	}
	return out.String()
}

// Index files that are spoiled while the log is open are noticed when an answer would come from them.
func TestIndexSpoiledWhileOpen(t *testing.T) {
	for _, garbage := range []byte{0, 1, 0x7f, 0xff} {
		fs := vfs.NewMem(1)
		c := small()
		c.SegmentBytes = 20_000
		l, _ := mustOpen(t, fs, Options{Config: c})
		fill(t, l, 400, 3)
		must(t, l.Flush())
		want := questions(t, l)
		for _, e := range must2(fs.ReadDir("data/t-0")) {
			if !strings.HasSuffix(e.Name, "index") {
				continue
			}
			f := must2(fs.OpenFile("data/t-0/"+e.Name, os.O_RDWR))
			b := make([]byte, e.Size)
			for i := range b {
				b[i] = garbage * byte(i%5)
			}
			f.WriteAt(b, 0)
		}
		if got := questions(t, l); got != want {
			t.Errorf("garbage %d: other answers", garbage)
		}
		fill(t, l, 2, 3)
		if got := questions(t, l); !strings.HasPrefix(got, want[:len(want)/2]) {
			t.Errorf("garbage %d: other answers after an append", garbage)
		}
		must(t, l.Close())
		l, _ = mustOpen(t, fs, Options{Config: c, Clean: true})
		if got := questions(t, l); !strings.HasPrefix(got, want[:len(want)/2]) {
			t.Errorf("garbage %d: other answers after a restart", garbage)
		}
	}
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestFsyncErrorIsFinal(t *testing.T) {
	fs := vfs.NewMem(1)
	d, err := OpenDirectory(fs, "data")
	must(t, err)
	l, _ := mustOpen(t, fs, Options{Directory: d})
	fill(t, l, 5, 3)
	remove := fs.Inject(vfs.Fault{Op: vfs.OpSync, Pattern: "*.log", Err: syscall.EIO, Times: 1})
	if err := l.Flush(); !errors.Is(err, ErrOffline) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("flush: %v", err)
	}
	remove()
	for name, err := range map[string]error{
		"flush":   l.Flush(),
		"append":  l.Append(plain(t, l.EndOffset(), 1, now0), now0),
		"close":   l.Close(),
		"another": func() error { _, _, err := Open(fs, "data/t-1", Options{Config: small(), Directory: d}); return err }(),
		"write":   d.WriteCheckpoint(LogStarts, nil),
	} {
		if !errors.Is(err, ErrOffline) {
			t.Errorf("%s after a failed fsync: %v", name, err)
		}
	}
	if d.Offline() == nil {
		t.Error("the directory is not offline")
	}
}

func TestFullDiskHeals(t *testing.T) {
	fs := vfs.NewMem(1)
	l, _ := mustOpen(t, fs, Options{})
	want := fill(t, l, 20, 3)
	fs.SetQuota(fs.Used() + 70)
	for range 3 {
		err := l.Append(plain(t, l.EndOffset(), 20, now0), now0)
		if !vfs.IsFull(err) || errors.Is(err, ErrOffline) {
			t.Fatalf("append to a full disk: %v", err)
		}
		if got := readAll(t, l); got != want {
			t.Fatal("the log changed")
		}
	}
	fs.SetQuota(-1)
	want += fill(t, l, 20, 3)
	if got := readAll(t, l); got != want {
		t.Fatal("after there is space again the log is not as written")
	}
	l.forgetFiles()
	l, _ = mustOpen(t, fs, Options{})
	if got := readAll(t, l); got != want {
		t.Fatal("after a restart the log is not as written")
	}
}

func TestTooManyOpenFilesHeals(t *testing.T) {
	fs := vfs.NewMem(1)
	l, _ := mustOpen(t, fs, Options{Files: NewFilePool(2)})
	want := fill(t, l, 60, 3)
	must(t, l.Flush())
	remove := fs.Inject(vfs.Fault{Op: vfs.OpOpen, Err: syscall.EMFILE})
	if _, err := l.Read(ReadRequest{From: 0, Limit: 100, MaxBytes: 100}); !vfs.IsHandleLimit(err) {
		t.Errorf("read: %v", err)
	}
	var err error
	for range 20 { // until a roll needs a new file
		if err = l.Append(plain(t, l.EndOffset(), 3, now0), now0); err != nil {
			break
		}
		at := int(l.EndOffset()) - 3
		want += fmt.Sprintf("%d =value %d\n%d =value %d\n%d =value %d\n", at, at, at+1, at+1, at+2, at+2)
	}
	if !vfs.IsHandleLimit(err) || errors.Is(err, ErrOffline) {
		t.Errorf("append: %v", err)
	}
	remove()
	want += fill(t, l, 20, 3)
	if got := readAll(t, l); got != want {
		t.Error("the log is not as written")
	}
}

// Damage to the tail of the newest segment, as a crash or a person does it.
func TestTornTail(t *testing.T) {
	half := plain(t, 0, 5, now0)
	half = half[:len(half)/2]
	for _, c := range []struct {
		name   string
		damage func([]byte) []byte
		loses  int
	}{
		{"nothing", func(b []byte) []byte { return b }, 0},
		{"noise appended", func(b []byte) []byte { return append(b, "37 bytes of noise, or about that much"...) }, 0},
		{"half a batch appended", func(b []byte) []byte { return append(b, half...) }, 0},
		{"a page of zeros appended", func(b []byte) []byte { return append(b, make([]byte, 4096)...) }, 0},
		{"10 bytes cut off", func(b []byte) []byte { return b[:len(b)-10] }, 3},
		{"a bit flipped", func(b []byte) []byte { b[len(b)-5] ^= 0x10; return b }, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := vfs.NewMem(1)
			l, _ := mustOpen(t, fs, Options{})
			fill(t, l, 20, 3)
			must(t, l.Flush()) // the recovery point was not written: everything is looked at
			name := segmentName(l.dir, l.active().base, ".log")
			l.forgetFiles()
			data := c.damage(must2(vfs.ReadFile(fs, name, 1<<20)))
			f := must2(fs.OpenFile(name, os.O_RDWR|os.O_TRUNC))
			f.WriteAt(data, 0)
			for range 2 { // the second time nothing is left to do
				l, r := mustOpen(t, fs, Options{RecoveryPoint: 0})
				if got := int(l.EndOffset()); got != 60-c.loses {
					t.Fatalf("the end is %d, want %d: %+v", got, 60-c.loses, r)
				}
				l.forgetFiles()
			}
			l, r := mustOpen(t, fs, Options{})
			if r.TruncatedBytes != 0 {
				t.Errorf("recovered a third time: %+v", r)
			}
			fill(t, l, 1, 3)
			readAll(t, l)
		})
	}
}

func TestSnapshotAndEpochsOfOthers(t *testing.T) {
	fs := vfs.NewMem(1)
	l, _ := mustOpen(t, fs, Options{})
	o := record.BuilderOptions{Idempotent: true, ProducerID: 5, ProducerEpoch: 2}
	for i := range 30 {
		o.BaseSequence = int32(i)
		b := batchSpec{at: l.EndOffset(), epoch: kafka.LeaderEpoch(i / 10), ts: now0, values: []string{"v"}, opts: o}.build(t)
		must(t, l.Append(b, now0))
	}
	want, epochs := l.Producers().Producers(), fmt.Sprint(l.Epochs().Entries())
	must(t, l.Close())
	for _, e := range must2(fs.ReadDir("data/t-0")) {
		if strings.HasSuffix(e.Name, ".snapshot") || e.Name == epochsName {
			f := must2(fs.OpenFile("data/t-0/"+e.Name, os.O_RDWR|os.O_TRUNC))
			f.WriteAt([]byte("something else"), 0)
		}
	}
	l, r := mustOpen(t, fs, Options{Clean: true})
	got := l.Producers().Producers()
	if len(got) != 1 || got[0].LastSequence != want[0].LastSequence || fmt.Sprint(l.Epochs().Entries()) != epochs {
		t.Errorf("producers %v want %v, epochs %v want %v: %+v", got, want, l.Epochs().Entries(), epochs, r)
	}
	if !r.RebuiltEpochs || r.BadSnapshots == 0 {
		t.Errorf("%+v", r)
	}
}

func TestFolderOfAnotherTopic(t *testing.T) {
	fs := vfs.NewMem(1)
	l, _ := mustOpen(t, fs, Options{})
	must(t, l.Close())
	if _, _, err := Open(fs, "data/t-0", Options{Config: small(), TopicID: kafka.TopicID{9}}); err == nil || !strings.Contains(err.Error(), "another topic") {
		t.Errorf("open: %v", err)
	}
	l, _, err := Open(fs, "data/t-0", Options{Config: small()})
	if err != nil || l.TopicID() != topic {
		t.Errorf("open without an id: %v", err)
	}
}
