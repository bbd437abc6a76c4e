package seglog

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// A log whose files hold any bytes opens or says that it is corrupt, and what can be read from it is whole.
func FuzzFiles(f *testing.F) {
	names := []string{"00000000000000000000.log", "00000000000000000000.index", "00000000000000000000.timeindex",
		"00000000000000000000.txnindex", "00000000000000000000.snapshot", epochsName, journalName, partitionMetadata}
	fs := vfs.NewMem(1)
	l, _ := mustOpen(f, fs, Options{})
	fill(f, l, 6, 3)
	must(f, l.Close())
	original := map[string][]byte{}
	for i, name := range names {
		data, _ := vfs.ReadFile(fs, "data/t-0/"+name, 1<<20)
		original[name] = data
		f.Add(uint8(i), true, data)
		f.Add(uint8(i), false, data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, which uint8, clean bool, data []byte) {
		fs := vfs.NewMem(1)
		must(t, fs.MkdirAll("data/t-0"))
		target := names[int(which)%len(names)]
		for _, name := range names {
			content := original[name]
			if name == target {
				content = data
			}
			if content == nil {
				continue
			}
			file := must2(fs.OpenFile("data/t-0/"+name, os.O_RDWR|os.O_CREATE))
			file.WriteAt(content, 0)
			file.Close()
		}
		l, _, err := Open(fs, "data/t-0", Options{Config: small(), TopicID: topic, Clean: clean, Now: now0})
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, errTopic) {
				t.Fatalf("open: %v", err)
			}
			return
		}
		if target != names[0] && l.EndOffset() != 18 && target != journalName {
			t.Fatalf("%s moved the end to %d", target, l.EndOffset())
		}
		for at := l.StartOffset(); at < l.EndOffset(); {
			s, err := l.Read(ReadRequest{From: at, Limit: l.EndOffset(), MaxBytes: 200, AtLeastOneBatch: true})
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatalf("read at %d: %v", at, err)
				}
				return
			}
			if s.Len == 0 {
				break
			}
			if s.NextOffset <= at {
				t.Fatalf("read at %d goes on at %d", at, s.NextOffset)
			}
			at = s.NextOffset
			s.Release()
		}
		if _, _, err := l.OffsetForTimestamp(now0+2000, l.EndOffset()); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		if _, err := l.AbortedTransactions(0, l.EndOffset()); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		if err := l.Append(plain(t, l.EndOffset(), 1, now0), now0); err != nil && !errors.Is(err, ErrCorrupt) && l.EndOffset() < 1<<62 {
			t.Fatal(err)
		}
	})
}

func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte("0\n1\na 1 5\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		offsets, _, err := parseCheckpoint(data)
		if err != nil {
			return
		}
		again, _, err := parseCheckpoint(appendCheckpoint(nil, offsets))
		if err != nil || len(again) != len(offsets) {
			t.Fatalf("%v: %v, then %v", err, offsets, again)
		}
	})
}

func FuzzJournal(f *testing.F) {
	seed := appendMark(appendSeal(nil, seal{base: 1, next: 2}), kindStart, 5)
	stamp(seed, 1)
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := parseJournal(data)
		if s.size > int64(len(data)) || s.size%journalRecord != 0 {
			t.Fatalf("size %d of %d", s.size, len(data))
		}
	})
}

// Any part of the last group may be lost; the groups before it count.
func TestTornJournal(t *testing.T) {
	first := appendMark(nil, kindStart, 5)
	stamp(first, 1)
	last := appendMark(appendMark(appendMark(nil, kindStart, 6), kindCut, 7), kindStart, 8)
	stamp(last, 2)
	for mask := range 8 {
		for cut := range 4 {
			data := bytes.Clone(last[:len(last)-cut*journalRecord+cut*7])
			for i := range 3 {
				if mask&(1<<i) != 0 && i*journalRecord+50 < len(data) {
					data[i*journalRecord+50] ^= 1
				}
			}
			s := parseJournal(append(bytes.Clone(first), data...))
			want := kafka.Offset(5)
			if mask == 0 && cut == 0 {
				want = 8
			}
			if s.start != want || s.damaged {
				t.Errorf("mask %b cut %d: start %d damaged %v", mask, cut, s.start, s.damaged)
			}
		}
	}
	third := appendMark(nil, kindStart, 9)
	stamp(third, 3)
	broken := bytes.Clone(last)
	broken[60] ^= 1
	if s := parseJournal(bytes.Join([][]byte{first, broken, third}, nil)); !s.damaged {
		t.Error("damage before the last group was not noticed")
	}
}
