package server

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/quorum"
)

func TestQuorumStalled(t *testing.T) {
	f := func(s quorum.Status, still time.Duration, want bool) {
		t.Helper()
		if got := quorumStalled(s, still); got != want {
			t.Errorf("quorumStalled(%v, %v) = %v", s.Stalled, still, got)
		}
	}
	f(quorum.Status{}, 500*time.Millisecond, false)
	f(quorum.Status{}, quorumSlow, true)
	f(quorum.Status{Stalled: true}, 0, true)
}
