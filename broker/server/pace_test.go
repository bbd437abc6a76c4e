package server

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
)

// A recovery of a day is healthy while some number grows, at each look; one that stands still is stuck beyond its limit, and bounded by that.
func TestARecoveryIsStuckOnlyWhenItStandsStill(t *testing.T) {
	const period = 10 * time.Second // of a probe
	var p pace
	now := kafka.Elapsed(0)
	look := func(progress partition.Progress) string {
		now = now.Add(period)
		return stuckReason(stillness{recovering: progress.Opening, recovery: p.still(progress, now)})
	}
	progress := partition.Progress{Opening: true, Total: 2}
	for range int(24 * time.Hour / recoveryStill) { // the slowest that is no standstill: one block in the whole limit
		for range int(recoveryStill / period) {
			if r := look(progress); r != "" {
				t.Fatalf("after %v: %s", now, r)
			}
		}
		progress.ReadBytes++
	}
	look(progress)
	began := now
	for look(progress) == "" {
		if now.Sub(began) > 2*recoveryStill {
			t.Fatal("a recovery that stands still is healthy for ever")
		}
	}
	if still := now.Sub(began); still != recoveryStill+period {
		t.Errorf("noticed after %v, want one look after %v", still, recoveryStill)
	}
	if r := look(progress); !strings.Contains(r, "recovery of the logs has not moved for 10m") {
		t.Errorf("%q", r)
	}
	progress.Opening = false
	for range 1000 {
		if r := look(progress); r != "" {
			t.Fatalf("logs that are open have nothing to move: %s", r)
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
