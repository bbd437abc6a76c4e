package server

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Limits of liveness: what stands still for longer is stuck for good, and only a new process helps. They are far above what a
// slow disk or a large change of the cluster costs.
const (
	quorumStill = time.Minute
	followStill = 5 * time.Minute
	// recoveryStill is for recovery, which counts every block that it reads: however long it takes, it is alive while it reads.
	recoveryStill = 10 * time.Minute
)

// pulse is when a loop last moved. The zero value has not begun, and nobody judges it.
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

// stuck says what stands still for too long, "" when nothing does.
func (s *Server) stuck(now kafka.Elapsed) string {
	progress := s.partitions.Progress()
	recovery := s.recoveryPace.still(progress, now)
	quorum, follow := now.Sub(s.quorum.MovedAt()), s.followPulse.still(now)
	return stuckReason(stillness{recovering: progress.Opening, recovery: recovery, quorum: quorum, follow: follow})
}

// stillness is for how long the parts of a broker have not moved.
type stillness struct {
	recovering               bool // logs are being opened
	recovery, quorum, follow time.Duration
}

func stuckReason(s stillness) string {
	switch {
	case s.recovering && s.recovery > recoveryStill:
		return fmt.Sprintf("the recovery of the logs has not moved for %v", s.recovery.Round(time.Second))
	case s.quorum > quorumStill:
		return fmt.Sprintf("the loop of the metadata quorum has not moved for %v", s.quorum.Round(time.Second))
	case s.follow > followStill:
		return fmt.Sprintf("the loop that follows the cluster's image has not moved for %v", s.follow.Round(time.Second))
	}
	return ""
}
