package sim

import (
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/vfs"
)

// TestStalledQuorumLogEndsService: the leader's log of the quorum takes nothing any more, for want of space that partitions still have.
// Its heartbeats go on, its image does not. Others must lead before long, and it must be back when the log goes on.
func TestStalledQuorumLogEndsService(t *testing.T) {
	for seed := range uint64(scenarioSeeds) {
		r := runScenario(DefaultOptions(seed), scenario{play: func(s *stage) {
			heal := s.hosts[3].disk.Inject(vfs.Fault{Op: vfs.OpWrite, Pattern: "wal-*.log", Err: syscall.ENOSPC})
			s.createTopic(simTopic{name: "news", partitions: 1, replicas: 1})
			s.until("the log takes nothing", func() bool { return s.hosts[3].proc.node.Stalled() })
			s.until("another leads", func() bool {
				return !s.hosts[3].proc.member.Serving() && s.leads(s.state().Leader) && s.state().Leader != 3
			})
			s.produce(5)
			s.run(2 * time.Second)
			heal()
			s.until("it is back", func() bool { return s.serving(3) && s.inSync(3, 4, 5) })
			s.produce(5)
		}})
		if r.Failure != "" {
			t.Errorf("seed %d: %s", seed, r.Failure)
		}
	}
}

// TestAStalledQuorumFencesNobody: the leader's log takes nothing, and of the other two voters one is cut off. Nobody can decide then, and
// afterwards the leader counts silence anew.
func TestAStalledQuorumFencesNobody(t *testing.T) {
	for seed := range uint64(scenarioSeeds) {
		r := runScenario(DefaultOptions(seed), scenario{play: func(s *stage) {
			leader := s.deciding(nil)
			silent := s.hosts[(leader.id+1)%3]
			s.weather.cut(s.World, silent, true, true)
			heal := leader.disk.Inject(vfs.Fault{Op: vfs.OpWrite, Pattern: "wal-*.log", Err: syscall.ENOSPC})
			s.until("the log takes nothing", func() bool { return leader.proc.node.Stalled() })
			s.run(unheardLimit - 100*time.Millisecond)
			heal()
			s.until("the silent broker is fenced", func() bool {
				b := s.image().Broker(silent.id)
				return b != nil && b.Fenced
			})
		}})
		if r.Failure != "" {
			t.Errorf("seed %d: %s", seed, r.Failure)
		}
	}
}
