package sim

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/membership"
	"github.com/fairlead-io/fairlead/broker/metactl"
)

// scenarios are directed tests of rules whose absence weather shows seldom or never. One of the checkers must notice when the rule is off; with
// all rules on the scenario passes.
var scenarios = []struct {
	rule     string
	checkers []string
	scenario
}{
	{"replica.FullTruncationMovesWatermark", []string{"log end"}, scenario{play: startOver}},
	{"replica.FollowerTruncatesFully", []string{"convergence"}, scenario{play: startOver}},
	{"replica.FollowerWatermarkByLogEnd", []string{"log end"}, scenario{play: farBehind}},
	{"replica.JoiningHoldsWatermark", []string{"joined"}, scenario{play: slowLink}},
	{"replica.EpochsDecideTruncation", []string{"latest"}, scenario{play: staleWatermark}},
	{"replica.MinISRGatesWatermark", []string{"committed", "latest"}, scenario{play: lastLeaderStanding}},
	{"replica.JoinAtEpochStart", []string{"latest"}, scenario{play: joinTooEarly}},
	{"replica.FenceBrokerEpoch", []string{"proposals"}, scenario{play: fencedFollower}},
	{"replica.FenceBrokerEpoch", []string{"proposals"}, scenario{play: fetchOfEarlierLife}},
	{"replica.FenceLeaderEpoch", []string{"epochs"}, scenario{play: lateImage}},
	{"replica.RefuseNewerEpochs", []string{"epochs"}, scenario{play: deposedWhileReading}},
	{"replica.FlushGatesPosition", []string{"committed", "latest"}, scenario{configs: map[string]string{"flush.messages": "1", "min.insync.replicas": "1"}, play: powerLossBeforeFlush}},
	{"metactl.NewDirectory", []string{"anew"}, scenario{play: lastMemberLosesDisk}},
	{"metactl.AlterEpochs", []string{"latest"}, scenario{play: lateCopyOfExpansion}},
	{"metactl.AlterBrokerEpochs", []string{"latest"}, scenario{play: expansionAcrossRestart}},
	{"metactl.AlterEligibility", []string{"joining"}, scenario{play: expansionOfTheDead}},
	{"metactl.FenceSilent", []string{"silence"}, scenario{play: silence}},
	{"metactl.StaleBrokerEpochs", []string{"convergence"}, scenario{play: lateGoodbye}},
	{"metactl.MostCompleteLog", []string{"latest"}, scenario{play: shortLogFirst}},
}

const alterKey, heartbeatKey = int16(56), int16(63)

// startOver: records are deleted that a follower, which is down, does not have yet.
func startOver(s *stage) {
	s.produce(10)
	s.kill(5)
	s.until("the ISR shrinks", func() bool { return s.inSync(3, 4) })
	s.produce(20)
	s.deleteRecords(25)
	s.start(5)
	s.run(3 * time.Second)
}

// farBehind: one answer does not bring a follower to the watermark of its leader.
func farBehind(s *stage) {
	s.kill(5)
	s.until("the ISR shrinks", func() bool { return s.inSync(3, 4) })
	for _, p := range s.producers {
		p.padding = 300_000
	}
	for range 8 {
		s.produce(1)
	}
	s.start(5)
	s.run(3 * time.Second)
}

// slowLink: a follower outside the ISR is always a little behind the others, and within replica.lag.time.max.ms.
func slowLink(s *stage) {
	s.cut(3, 5)
	s.flow()
	s.until("the ISR shrinks", func() bool { return s.inSync(3, 4) })
	s.hold(hold{from: 5, to: 3, key: fetchKey, slow: 150 * time.Millisecond})
	s.hold(hold{from: 3, to: 5, key: fetchKey, answers: true, slow: 150 * time.Millisecond})
	s.uncut(3, 5)
	s.wait(10*time.Second, func() bool { return s.inSync(3, 4, 5) })
	s.check.joined(s.World, s.tp, 5)
}

// staleWatermark: a follower that has all that is committed, and does not know that it is, starts anew and is then the only one to lead (KIP-101).
func staleWatermark(s *stage) {
	s.stop(5)
	s.produce(10)
	p := s.send(5)
	s.until("broker 4 has it", func() bool { return s.log(4).LogEnd == 15 })
	h := s.hold(hold{from: 3, to: 4, key: fetchKey, answers: true})
	s.until("acknowledged", func() bool { return p.batch == nil })
	s.cut(3, 4)
	s.stop(4)
	h.over = true
	s.start(4)
	s.until("broker 4 is back", func() bool { return s.serving(4) })
	s.run(500 * time.Millisecond)
	s.kill(3)
	s.until("broker 4 leads", func() bool { return s.leads(4) })
	s.run(time.Second)
}

// lastLeaderStanding: a leader that alone is left in its ISR has a record that nobody else has, and dies.
func lastLeaderStanding(s *stage) {
	s.produce(10)
	s.cut(3, 4, 5)
	s.send(1)
	s.until("the ISR shrinks", func() bool { return s.inSync(3) })
	s.run(time.Second)
	s.vanish(3)
	s.until("another broker leads", func() bool { return s.leads(4) || s.leads(5) })
	s.run(time.Second)
}

// joinTooEarly: a new leader does not know yet how much is committed, and a replica that has less than that asks it for records.
func joinTooEarly(s *stage) {
	s.produce(10)
	s.cut(5)
	s.until("the ISR shrinks", func() bool { return s.inSync(3, 4) })
	p := s.send(5)
	s.until("broker 4 has it", func() bool { return s.log(4).LogEnd == 15 })
	s.hold(hold{from: 3, to: 4, key: fetchKey, answers: true}) // it does not hear that all is committed
	s.until("acknowledged", func() bool { return p.batch == nil })
	s.kill(3)
	s.until("broker 4 leads", func() bool { return s.leads(4) })
	h := s.hold(hold{from: 4, to: 5, key: fetchKey, answers: true})
	s.uncut(5)
	s.wait(5*time.Second, func() bool { return s.inSync(4, 5) })
	h.over = true
	s.kill(4)
	s.wait(5*time.Second, func() bool { return s.leads(5) })
	s.run(time.Second)
}

// fencedFollower: a broker that the controller does not hear follows its leader all the same.
func fencedFollower(s *stage) {
	s.flow()
	s.cut(5, 0, 1, 2)
	s.until("the ISR shrinks", func() bool { return s.inSync(3, 4) })
	s.run(proposalLimit + 2*time.Second)
}

// fetchOfEarlierLife: a fetch arrives when the broker that sent it has lost its log and has registered again.
func fetchOfEarlierLife(s *stage) {
	s.produce(10)
	h := s.hold(hold{from: 5, to: 3, key: fetchKey, when: func() bool { return s.log(5).LogEnd == 15 }})
	s.send(5)
	s.until("broker 5 asks for more", h.caught)
	h.over = true
	s.cut(3, 5)
	s.vanish(5)
	s.start(5)
	s.until("broker 5 serves", func() bool { return s.serving(5) })
	s.run(proposalLimit + time.Second)
	h.release()
	s.run(time.Second)
}

// lateImage: a follower learns late of two elections that lead back to the same leader.
func lateImage(s *stage) {
	s.flow()
	images := s.hold(hold{from: anyone, to: 5, key: quorumKey})
	s.kill(3)
	s.until("broker 4 leads", func() bool { return s.leads(4) })
	s.start(3)
	s.until("broker 3 leads again", func() bool { return s.leads(3) })
	s.run(2 * time.Second) // a fetcher in trouble pauses for up to a second
	images.release()
}

// deposedWhileReading: a leader that does not know that it is deposed answers a follower that does not know either. Between the look at its
// state and the reading of its log, another of its threads follows the new leader: what is read is of the next epoch.
func deposedWhileReading(s *stage) {
	s.produce(10)
	s.kill(3)
	s.until("broker 4 leads", func() bool { return s.leads(4) })
	s.start(3)
	s.until("broker 3 serves", func() bool { return s.serving(3) })
	served := s.now
	s.until("all are in sync", func() bool { return s.inSync(3, 4, 5) && s.leads(4) })
	// A produce waits for one second, so what follows begins half a second before broker 3 is given the leadership.
	s.run(served.Add(metactl.DefaultSettleTime - 500*time.Millisecond).Sub(s.now))
	old, follower := s.hosts[4].proc, s.hosts[5].proc
	old.following, follower.following = true, true // their threads that follow images do not get their turn
	a := s.hold(hold{from: 3, to: 4, key: fetchKey, when: func() bool { return s.log(3).LogEnd == 11 }})
	b := s.hold(hold{from: 5, to: 4, key: fetchKey, when: func() bool { return s.log(5).LogEnd == 11 }})
	s.send(1)
	s.until("all have it", func() bool { return a.caught() && b.caught() })
	s.send(1)
	s.until("broker 4 has one more", func() bool { return s.log(4).LogEnd == 12 })
	s.until("broker 3 leads", func() bool { return s.leads(3) })
	s.send(1)
	s.until("broker 3 has another one", func() bool { return s.log(3).LogEnd == 12 })
	a.release()
	s.inAnswer = func() {
		old.follow()
		s.fetchNow(4, 3)
	}
	b.release()
	s.until("broker 4 follows broker 3", func() bool { return s.log(4).LastEpoch == 2 })
	s.run(20 * time.Millisecond)
	follower.follow()
}

// powerLossBeforeFlush: the only member of an ISR loses its power between an append and its flush.
func powerLossBeforeFlush(s *stage) {
	s.stop(4)
	s.stop(5)
	s.produce(10)
	s.run(20 * time.Millisecond) // flushed
	s.flushDelay = 300 * time.Millisecond
	p := s.send(5)
	s.wait(200*time.Millisecond, func() bool { return p.batch == nil })
	s.vanish(3)
	s.flushDelay = 0
	s.start(3, 4, 5)
}

// lastMemberLosesDisk: the only member of an ISR comes back with an empty disk.
func lastMemberLosesDisk(s *stage) {
	s.produce(10)
	s.stop(5)
	s.produce(10)
	s.stop(4)
	s.until("the ISR shrinks", func() bool { return s.inSync(3) })
	s.vanish(3)
	s.replaceDisk(3)
	s.start(3)
	s.until("broker 3 serves", func() bool { return s.serving(3) })
}

// lateCopyOfExpansion: a copy of an ISR change comes when the change was taken back.
func lateCopyOfExpansion(s *stage) {
	s.produce(10)
	s.cut(3, 5)
	p := s.send(5)
	s.until("the ISR shrinks", func() bool { return s.inSync(3, 4) && p.batch == nil })
	h := s.hold(hold{from: 3, to: anyone, key: alterKey, copies: true})
	s.uncut(3, 5)
	s.until("the ISR grows", func() bool { return s.inSync(3, 4, 5) && h.caught() })
	h.over = true
	s.cut(3, 5)
	p = s.send(5)
	s.until("the ISR shrinks", func() bool { return s.inSync(3, 4) && p.batch == nil })
	h.release()
	s.wait(time.Second, func() bool { return s.inSync(3, 4, 5) })
	s.kill(3, 4)
	s.wait(5*time.Second, func() bool { return s.leads(5) })
	s.run(time.Second)
}

// expansionAcrossRestart: a replica loses its log between the proposal that it joins and the decision.
func expansionAcrossRestart(s *stage) {
	s.produce(10)
	s.cut(3, 5)
	p := s.send(5)
	s.until("the ISR shrinks", func() bool { return s.inSync(3, 4) && p.batch == nil })
	h := s.hold(hold{from: 3, to: anyone, key: alterKey})
	s.uncut(3, 5)
	s.until("the leader proposes", h.caught)
	s.cut(3, 5)
	s.vanish(5)
	s.start(5)
	s.until("broker 5 serves", func() bool { return s.serving(5) })
	h.release()
	s.wait(time.Second, func() bool { return s.inSync(3, 4, 5) })
	s.kill(3, 4)
	s.wait(5*time.Second, func() bool { return s.leads(5) })
	s.run(time.Second)
}

// expansionOfTheDead: a broker dies between the proposal that it joins and the decision.
func expansionOfTheDead(s *stage) {
	s.cut(3, 5)
	p := s.send(5)
	s.until("the ISR shrinks", func() bool { return s.inSync(3, 4) && p.batch == nil })
	h := s.hold(hold{from: 3, to: anyone, key: alterKey})
	s.uncut(3, 5)
	s.until("the leader proposes", h.caught)
	s.kill(5)
	s.until("broker 5 is fenced", func() bool { return s.image().Broker(5).Fenced })
	h.release()
	s.run(time.Second)
}

// silence: nobody hears a broker any more.
func silence(s *stage) {
	s.cut(5)
	s.check.expectFenced(s.World, s.hosts[5])
	s.run(unheardLimit + time.Second)
}

// lateGoodbye: the wish to leave of a process that was killed arrives when the next one serves.
func lateGoodbye(s *stage) {
	h := s.hold(hold{from: 5, to: anyone, key: heartbeatKey})
	s.leave(5)
	s.run(membership.RequestTimeout / 2)
	s.kill(5)
	h.over = true
	s.start(5)
	s.until("broker 5 is back", func() bool { return s.serving(5) && s.inSync(3, 4, 5) })
	h.release()
	s.run(time.Second)
}

// shortLogFirst: of two replicas that stopped uncleanly, the one with less comes back first.
func shortLogFirst(s *stage) {
	s.stop(5)
	s.produce(10)
	s.vanish(4)
	s.kill(3)
	s.until("nobody leads", func() bool { return s.state().Leader == kafka.NoNode && !s.serving(3) })
	s.start(4)
	s.until("broker 4 is back", func() bool { return s.serving(4) })
	s.start(3)
	s.until("somebody leads", func() bool { return s.state().Leader != kafka.NoNode })
	s.run(time.Second)
}
