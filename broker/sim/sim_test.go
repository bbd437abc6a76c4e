package sim

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

var (
	seeds = flag.Int("seeds", 40, "how many seeds to run")
	first = flag.Uint64("first", 1, "the first seed")
)

// TestSeeds runs many worlds. A failing seed is run again for its trace, which goes to a file.
func TestSeeds(t *testing.T) {
	start := time.Now()
	results := make(chan Result)
	next := make(chan uint64)
	var runners sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		runners.Go(func() {
			for seed := range next {
				results <- Run(DefaultOptions(seed))
			}
		})
	}
	go func() {
		for i := range *seeds {
			next <- *first + uint64(i)
		}
		close(next)
		runners.Wait()
		close(results)
	}()
	var sum Result
	failed := 0
	for r := range results {
		sum.Acked += r.Acked
		sum.Crashes += r.Crashes
		sum.Leaders += r.Leaders
		sum.Terms += r.Terms
		sum.Events += r.Events
		if r.Failure != "" {
			failed++
			if failed <= 10 {
				t.Errorf("seed %d: %s\n(trace: %s)", r.Seed, r.Failure, keepTrace(t, r.Seed))
			}
		}
	}
	took := time.Since(start)
	t.Logf("%d seeds in %v, %.1f a second; %d failed; %d events, %d batches acknowledged, %d crashes, %d leaderships, %d terms",
		*seeds, took.Round(time.Millisecond), float64(*seeds)/took.Seconds(), failed, sum.Events, sum.Acked, sum.Crashes, sum.Leaders, sum.Terms)
	if sum.Acked < *seeds*20 {
		t.Errorf("only %d batches were acknowledged: the simulation proves nothing", sum.Acked)
	}
}

func keepTrace(t *testing.T, seed uint64) string {
	o := DefaultOptions(seed)
	o.KeepTrace = true
	name := filepath.Join(os.TempDir(), fmt.Sprintf("fairlead-sim-%d.txt", seed))
	if err := os.WriteFile(name, []byte(Run(o).Trace), 0o644); err != nil {
		t.Log(err)
	}
	return name
}

// twiceSeeds is how many seeds are run twice.
const twiceSeeds = 12

// TestSameSeedSameTrace runs seeds twice and compares byte for byte, and so for each scenario. Several worlds run at a time: they share nothing.
func TestSameSeedSameTrace(t *testing.T) {
	for seed := range uint64(twiceSeeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			o := DefaultOptions(seed)
			o.KeepTrace = true
			same(t, Run(o).Trace, Run(o).Trace)
		})
	}
	for _, sc := range scenarios {
		t.Run(sc.rule, func(t *testing.T) {
			t.Parallel()
			o := DefaultOptions(1)
			o.KeepTrace = true
			same(t, runScenario(o, sc.scenario).Trace, runScenario(o, sc.scenario).Trace)
		})
	}
}

func same(t *testing.T, a, b string) {
	t.Helper()
	if a == b {
		return
	}
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	lo := max(0, i-300)
	t.Errorf("traces part at byte %d:\n%s\n----\n%s", i, a[lo:min(i+200, len(a))], b[lo:min(i+200, len(b))])
}
