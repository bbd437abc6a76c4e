package server

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Limits of liveness: a loop that stands still for longer is stuck for good, and only a new process helps. They are far above what a
// slow disk or a large change of the cluster costs.
const (
	quorumStill = time.Minute
	followStill = 5 * time.Minute
)

// pulse is when a loop last moved. The zero value has not begun, and nobody judges it: a broker that recovers its logs is
// alive however long that takes.
type pulse struct{ at atomic.Int64 } // elapsed time + 1; 0 before the first beat

// beat is called by the loop whenever it comes round.
func (p *pulse) beat(now kafka.Elapsed) { p.at.Store(int64(now) + 1) }

// still is for how long the loop has not moved; 0 before it began.
func (p *pulse) still(now kafka.Elapsed) time.Duration {
	at := p.at.Load()
	if at == 0 {
		return 0
	}
	return max(0, now.Sub(kafka.Elapsed(at-1)))
}

// stuck says which loop stands still for too long, "" when none does.
func (s *Server) stuck(now kafka.Elapsed) string {
	quorum, follow := now.Sub(s.quorum.MovedAt()), s.followPulse.still(now)
	switch {
	case quorum > quorumStill:
		return fmt.Sprintf("the loop of the metadata quorum has not moved for %v", quorum.Round(time.Second))
	case follow > followStill:
		return fmt.Sprintf("the loop that follows the cluster's image has not moved for %v", follow.Round(time.Second))
	}
	return ""
}
