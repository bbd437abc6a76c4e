package replica

import (
	"strings"
	"testing"
)

// run plays a schedule and returns the world, stopped at the first failure.
func run(seed int64, steps int, rules Rules) *world {
	w := newWorld(seed, 3, rules)
	for range steps {
		w.step()
		if len(w.failures) > 0 {
			return w
		}
	}
	w.heal()
	return w
}

func TestRandomSchedulesLoseNothing(t *testing.T) {
	seeds := 200
	if testing.Short() {
		seeds = 50
	}
	acked := 0
	for seed := range int64(seeds) {
		w := run(seed, 5000, AllRules())
		acked += len(w.acked)
		if len(w.failures) > 0 {
			t.Fatalf("seed %d: %s\n%s", seed, w.failures[0], strings.Join(w.trace[max(0, len(w.trace)-40):], "\n"))
		}
	}
	if acked < 30*seeds {
		t.Errorf("only %d records were acknowledged in %d schedules: they prove little", acked, seeds)
	}
}

// Without a rule some schedule must go wrong, or the schedules prove nothing about it.
func TestEachRuleIsNeeded(t *testing.T) {
	for name, off := range map[string]func(*Rules){
		"EpochsDecideTruncation":       func(r *Rules) { r.EpochsDecideTruncation = false },
		"FenceLeaderEpoch":             func(r *Rules) { r.FenceLeaderEpoch = false },
		"MaximalISR":                   func(r *Rules) { r.MaximalISR = false },
		"FollowerTruncatesFully":       func(r *Rules) { r.FollowerTruncatesFully = false },
		"FullTruncationMovesWatermark": func(r *Rules) { r.FullTruncationMovesWatermark = false },
		"TruncateBeforeWatermark":      func(r *Rules) { r.TruncateBeforeWatermark = false },
		"KeepLastFetchedEpoch":         func(r *Rules) { r.KeepLastFetchedEpoch = false },
		"FollowerWatermarkByLogEnd":    func(r *Rules) { r.FollowerWatermarkByLogEnd = false },
		"JoinAtEpochStart":             func(r *Rules) { r.JoinAtEpochStart = false },
		"FenceBrokerEpoch":             func(r *Rules) { r.FenceBrokerEpoch = false },
		"WatermarkNeverBack":           func(r *Rules) { r.WatermarkNeverBack = false },
	} {
		t.Run(name, func(t *testing.T) {
			rules := AllRules()
			off(&rules)
			for seed := range int64(1500) {
				if w := run(seed, 5000, rules); len(w.failures) > 0 {
					t.Logf("seed %d: %s", seed, w.failures[0])
					return
				}
			}
			t.Error("nothing went wrong without it")
		})
	}
}
