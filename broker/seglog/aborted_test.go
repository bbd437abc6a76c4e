package seglog

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Transactions of several producers, aborted or committed, over segments, crashes, truncations and lost index files: the
// aborted ones are always those that a naive list has.
func TestAbortedAgainstModel(t *testing.T) {
	for seed := range uint64(*modelSeeds) {
		seed += *modelFirst
		rnd := rand.New(rand.NewPCG(seed, 4))
		fs := vfs.NewMem(seed)
		must(t, fs.MkdirAll("data"))
		must(t, fs.SyncDir(""))
		l, _ := mustOpen(t, fs, Options{})
		open := map[kafka.ProducerID]kafka.Offset{}
		var want []AbortedTransaction
		for range 150 {
			id := kafka.ProducerID(rnd.IntN(4))
			first, isOpen := open[id]
			switch op := rnd.IntN(40); {
			case op < 20:
				if !isOpen {
					open[id] = l.EndOffset()
				}
				o := record.BuilderOptions{Idempotent: true, ProducerID: id, ProducerEpoch: 1, Transactional: true, BaseSequence: record.NoSequence}
				must(t, l.Append(batchSpec{at: l.EndOffset(), ts: now0, values: []string{strings.Repeat("v", rnd.IntN(100)+1)}, opts: o}.build(t), now0))
			case op < 34 && isOpen:
				delete(open, id)
				commit := rnd.IntN(2) == 0
				at := l.EndOffset()
				marker(t, l, id, commit)
				if !commit {
					stable := at + 1
					for _, f := range open {
						stable = min(stable, f)
					}
					want = append(want, AbortedTransaction{id, first, at, stable})
				}
			case op == 34: // crash
				must(t, l.Flush())
				l.forgetFiles()
				if rnd.IntN(2) == 0 {
					fs.Crash()
				}
				l, _ = mustOpen(t, fs, Options{RecoveryPoint: kafka.Offset(rnd.Int64N(int64(l.EndOffset()) + 1))})
			case op == 35: // clean stop, and the indexes are lost
				must(t, l.Close())
				for _, e := range must2(fs.ReadDir("data/t-0")) {
					if strings.HasSuffix(e.Name, ".txnindex") && rnd.IntN(2) == 0 {
						f := must2(fs.OpenFile("data/t-0/"+e.Name, os.O_RDWR|os.O_TRUNC))
						f.WriteAt(make([]byte, rnd.IntN(100)), 0)
						f.Sync()
					}
				}
				l, _ = mustOpen(t, fs, Options{Clean: true})
			case op == 36 && len(open) == 0: // so that the model need not reopen transactions
				to := l.StartOffset() + kafka.Offset(rnd.Int64N(int64(l.EndOffset())+1))
				if slices.ContainsFunc(want, func(a AbortedTransaction) bool { return a.First < to && a.Last >= to }) {
					continue
				}
				if to < l.EndOffset() && l.Producers().Len() > 0 {
					continue // a committed transaction may be cut in the middle
				}
				must(t, l.TruncateTo(to))
			}
			from := kafka.Offset(rnd.Int64N(int64(l.EndOffset()) + 1))
			to := from + kafka.Offset(rnd.IntN(30))
			got, err := l.AbortedTransactions(from, to)
			must(t, err)
			var expect []AbortedTransaction
			for _, a := range want {
				if a.First < to && a.Last >= from {
					expect = append(expect, a)
				}
			}
			// More than asked for is no harm when it overlaps; here it is exact.
			if fmt.Sprint(got) != fmt.Sprint(expect) {
				t.Fatalf("seed %d: aborted in [%d, %d) of %d: %v want %v, all %v", seed, from, to, l.EndOffset(), got, expect, want)
			}
		}
	}
}

// What a fetch costs does not grow with the transactions that were ever aborted.
func TestAbortedInALongIndex(t *testing.T) {
	const n = 5 * sampleEvery
	fs := vfs.NewMem(1)
	c := small()
	c.SegmentBytes = 1 << 20
	l, _ := mustOpen(t, fs, Options{Config: c})
	o := record.BuilderOptions{Idempotent: true, ProducerID: 1, ProducerEpoch: 1, Transactional: true, BaseSequence: record.NoSequence}
	for range n {
		must(t, l.Append(batchSpec{at: l.EndOffset(), ts: now0, values: []string{"v"}, opts: o}.build(t), now0))
		marker(t, l, 1, false)
	}
	read := 0
	fs.Observe(func(op vfs.Op, name string, bytes int) {
		if op == vfs.OpRead && strings.HasSuffix(name, ".txnindex") {
			read += bytes
		}
	})
	for _, i := range []kafka.Offset{0, 1, sampleEvery - 1, sampleEvery, 2*sampleEvery + 7, n - 2, n - 1} {
		read = 0
		got, err := l.AbortedTransactions(2*i, 2*i+1)
		must(t, err)
		if want := []AbortedTransaction{{1, 2 * i, 2*i + 1, 2*i + 2}}; !slices.Equal(got, want) {
			t.Errorf("aborted at %d: %v, want %v", 2*i, got, want)
		}
		if most := 2 * lookupBlock; read > most {
			t.Errorf("%d bytes of the index were read for the transaction at %d, want %d at most", read, 2*i, most)
		}
	}
	all, err := l.AbortedTransactions(0, l.EndOffset())
	if err != nil || len(all) != n {
		t.Errorf("%d transactions in the whole log, want %d; %v", len(all), n, err)
	}
}
