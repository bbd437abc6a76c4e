package seglog

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Between the parts of a pass the log goes on: it is appended to, rolled, truncated, emptied, its start moves. Whatever
// happens, the log amounts to what was written and is left, and reopens to the same.
func TestCompactionBesideChanges(t *testing.T) {
	for seed := range uint64(*modelSeeds) {
		seed += *modelFirst
		rnd := rand.New(rand.NewPCG(seed, 8))
		fs := vfs.NewMem(seed)
		files := NewFilePool(4)
		l, _ := mustOpen(t, fs, Options{Config: compacted(), Files: files})
		written := map[kafka.Offset]string{} // "k=v" by offset
		n, stable := 0, kafka.Offset(0)
		change := func() {
			switch op := rnd.IntN(20); {
			case op < 14:
				n++
				kv := fmt.Sprintf("k%d=v%d", rnd.IntN(9), n)
				written[l.EndOffset()] = kv
				keyed(t, l, record.BuilderOptions{}, kv)
			case op < 16:
				must(t, l.Roll(now0))
				must(t, l.Flush())
			case op < 17:
				from := max(l.StartOffset(), stable) // nothing below the watermark is ever truncated
				must(t, l.TruncateTo(from+kafka.Offset(rnd.Int64N(int64(l.EndOffset()-from)+1))))
				maps.DeleteFunc(written, func(o kafka.Offset, _ string) bool { return o >= l.EndOffset() })
			case op < 19:
				must(t, l.AdvanceStart(min(l.EndOffset(), l.StartOffset()+2)))
				_, err := l.Retain(now0, l.EndOffset())
				must(t, err)
			case rnd.IntN(10) == 0:
				must(t, l.TruncateFullyTo(l.EndOffset()+5))
				clear(written)
			}
		}
		want := func() map[string]string {
			m := map[string]string{}
			for at := l.StartOffset(); at < l.EndOffset(); at++ {
				maps.Copy(m, fold(fmt.Sprintf("%d %s\n", at, written[at])))
			}
			return m
		}
		check := func(when string) {
			t.Helper()
			if got, want := fold(readAll(t, l)), want(); !maps.Equal(got, want) {
				t.Fatalf("seed %d, %s: the log amounts to\n%v want\n%v", seed, when, got, want)
			}
		}
		for range 6 {
			for range 30 {
				change()
			}
			must(t, l.Flush())
			stable = l.EndOffset()
			c, err := l.StartCompaction(now0, l.EndOffset(), CompactBounds{})
			must(t, err)
			for c != nil {
				for range rnd.IntN(3) {
					change()
				}
				more, err := c.Clean()
				must(t, err)
				for range rnd.IntN(3) {
					change()
				}
				if !more {
					break
				}
				must(t, c.Commit())
				check("after a commit")
			}
			if c != nil {
				must(t, c.Close())
			}
			check("after a pass")
			must(t, l.Close())
			if got := files.Open(); got != 0 {
				t.Fatalf("seed %d: %d files are open after Close", seed, got)
			}
			l, _ = mustOpen(t, fs, Options{Config: compacted(), Files: files, Clean: true})
			check("after a restart")
		}
	}
}

func TestJournalIsBounded(t *testing.T) {
	fs := vfs.NewMem(1)
	must(t, fs.MkdirAll("data"))
	must(t, fs.SyncDir(""))
	l, _ := mustOpen(t, fs, Options{})
	for range 2000 {
		fill(t, l, 1, 1)
		must(t, l.AdvanceStart(l.EndOffset()-1))
		if l.journal.size > 2*journalSlack*journalRecord+100*journalRecord {
			t.Fatalf("the journal has %d bytes", l.journal.size)
		}
		if l.EndOffset()%100 == 0 {
			_, err := l.Retain(now0, l.EndOffset())
			must(t, err)
		}
	}
	l.forgetFiles()
	fs.Crash()
	l, _ = mustOpen(t, fs, Options{})
	if l.StartOffset() != 1999 {
		t.Errorf("the log starts at %d", l.StartOffset())
	}
}

// A batch that cannot be read any more is the trouble of its log alone.
func TestDamageStaysWithItsLog(t *testing.T) {
	fs := vfs.NewMem(1)
	d := must2(OpenDirectory(fs, "data"))
	l, _ := mustOpen(t, fs, Options{Directory: d, Config: compacted()})
	for range 40 {
		keyed(t, l, record.BuilderOptions{}, "a=1", "b=2")
	}
	must(t, l.Roll(now0))
	must(t, l.Flush())
	flip(t, fs, l, 3)
	end := l.EndOffset()
	if _, err := l.Compact(now0, end, CompactBounds{}); !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrOffline) {
		t.Errorf("compact: %v", err)
	}
	if d.Offline() != nil {
		t.Errorf("the directory: %v", d.Offline())
	}
	keyed(t, l, record.BuilderOptions{}, "c=3")
	must(t, l.Close())
}
