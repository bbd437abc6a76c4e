package sim

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/metactl"
)

// A log fails alone, and its broker goes on. flush.messages=1 has a deleted folder noticed at the next produce.
func TestALogFails(t *testing.T) {
	for name, play := range map[string]func(*stage){
		"of a leader": leaderLosesFolder, "of a follower": followerLosesFolder, "of the last in sync": lastLosesFolder,
		"and its resignation arrives late": lateResignation,
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(scenarioSeeds) {
				sc := scenario{configs: map[string]string{"flush.messages": "1"}, play: play}
				if r := runScenario(DefaultOptions(seed), sc); r.Failure != "" {
					t.Errorf("seed %d: %s", seed, r.Failure)
				}
			}
		})
	}
}

// leaderLosesFolder: another leads, and the preferred one gets nothing back until it has been started again and caught up.
func leaderLosesFolder(s *stage) {
	s.flow()
	s.run(500 * time.Millisecond)
	s.loseFolder(3)
	lost := s.now
	s.until("others lead", func() bool { return s.inSync(4, 5) && (s.leads(4) || s.leads(5)) })
	if took := s.now.Sub(lost); took > time.Second {
		s.fail("scenario: it took %v", took)
	}
	if s.wait(metactl.DefaultSettleTime+2*time.Second, func() bool { return !s.inSync(4, 5) || s.leads(3) }) {
		s.fail("scenario: %+v", s.state())
	}
	s.kill(3)
	s.start(3)
	s.until("all are in sync", func() bool { return s.inSync(3, 4, 5) })
}

func followerLosesFolder(s *stage) {
	s.flow()
	s.run(500 * time.Millisecond)
	s.loseFolder(5)
	s.until("it is out of the ISR", func() bool { return s.inSync(3, 4) })
	epoch := s.state().LeaderEpoch
	if s.wait(lagMax+2*time.Second, func() bool { return !s.inSync(3, 4) }) || s.state().LeaderEpoch != epoch || !s.leads(3) {
		s.fail("scenario: %+v", s.state())
	}
	s.kill(5)
	s.start(5)
	s.until("all are in sync", func() bool { return s.inSync(3, 4, 5) })
}

// lastLosesFolder: the leader of an ISR of one keeps its place while the other eligible one is down, and leaves it to that one.
func lastLosesFolder(s *stage) {
	s.produce(10)
	s.stop(5)
	s.stop(4) // it stays eligible
	s.loseFolder(3)
	s.send(1)
	s.run(2 * time.Second)
	if !s.inSync(3) || s.state().Leader != 3 {
		s.fail("scenario: %+v", s.state())
	}
	s.start(4)
	s.until("broker 4 leads", func() bool { return s.leads(4) && s.inSync(4) })
	s.start(5)
	s.until("two are in sync", func() bool { return s.inSync(4, 5) })
	s.kill(3)
	s.start(3)
	s.until("all are in sync", func() bool { return s.inSync(3, 4, 5) })
}

// lateResignation: it was sent in the life before, and says nothing of this one.
func lateResignation(s *stage) {
	s.flow()
	s.run(500 * time.Millisecond)
	h := s.hold(hold{from: 3, to: anyone, key: alterKey})
	s.loseFolder(3)
	s.until("broker 3 resigns", h.caught)
	h.over = true
	s.kill(3)
	s.start(3)
	s.until("all are in sync", func() bool { return s.serving(3) && s.inSync(3, 4, 5) })
	h.release()
	if s.wait(2*time.Second, func() bool { return !s.inSync(3, 4, 5) }) {
		s.fail("scenario: %+v", s.state())
	}
}
