package server

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
)

// kubelet asks as a liveness probe does, over a clock that is passed.
type kubelet struct {
	probe   adminapi.Probe
	now     kafka.Elapsed
	failed  int32         // in a row
	killed  bool          // so often as the probe allows
	last    string        // reason
	elapsed time.Duration // in all
}

func (k *kubelet) ask(health func(now kafka.Elapsed) string) {
	period := time.Duration(k.probe.PeriodSeconds) * time.Second
	k.now, k.elapsed = k.now.Add(period), k.elapsed+period
	if k.last = health(k.now); k.last == "" {
		k.failed = 0
		return
	}
	k.failed++
	k.killed = k.killed || k.failed >= k.probe.FailureThreshold
}

// A recovery of a day is never killed while some number grows within the limit; one that stands still is, in a time that is bounded.
func TestARecoveryIsKilledOnlyWhenItStandsStill(t *testing.T) {
	var p pace
	progress := partition.Progress{Opening: true, Total: 2}
	health := func(now kafka.Elapsed) string {
		return stuckReason(stillness{recovering: progress.Opening, recovery: p.still(progress, now)})
	}
	k := &kubelet{probe: adminapi.LivenessProbe()}
	moved := k.now
	for k.elapsed < 24*time.Hour {
		k.ask(health)
		if k.failed > 0 {
			t.Fatalf("after %v: %s", k.elapsed, k.last)
		}
		if k.now.Sub(moved) >= recoveryStill { // the slowest that is no standstill: one block in the whole limit
			progress.ReadBytes++
			moved = k.now
		}
	}
	k.elapsed = 0
	k.ask(health) // sees the last block
	for !k.killed {
		if k.elapsed > 2*recoveryStill {
			t.Fatal("a recovery that stands still is never killed")
		}
		k.ask(health)
	}
	if limit := recoveryStill + time.Duration(k.probe.WorstSeconds())*time.Second; k.elapsed > limit {
		t.Errorf("killed after %v, want at most %v", k.elapsed, limit)
	}
	if !strings.Contains(k.last, "recovery of the logs has not moved for 1") {
		t.Errorf("%q", k.last)
	}
	progress.Opening = false
	for range 1000 {
		if k.ask(health); k.last != "" {
			t.Fatalf("logs that are open have nothing to move: %s", k.last)
		}
	}
}

func TestStuckLoopsHaveLimits(t *testing.T) {
	f := func(s stillness, want string) {
		t.Helper()
		if r := stuckReason(s); (r == "") != (want == "") || !strings.Contains(r, want) {
			t.Errorf("%+v: %q, want %q", s, r, want)
		}
	}
	f(stillness{quorum: quorumStill, follow: followStill}, "")
	f(stillness{quorum: quorumStill + 1}, "metadata quorum")
	f(stillness{follow: followStill + 1}, "cluster's image")
	f(stillness{recovery: time.Hour}, "") // nothing is recovered
	f(stillness{recovering: true, recovery: recoveryStill}, "")
	f(stillness{recovering: true, recovery: recoveryStill + 1}, "recovery")
}
