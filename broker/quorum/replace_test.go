package quorum

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// replaced tells whether a host's present directory votes and no other directory of its node id is a member, in a configuration that is settled.
func (w *world) replaced(h *host) bool {
	l := w.leader()
	if l == nil || len(l.node.conf.GetVotersOutgoing()) > 0 || !l.node.isVoter(RaftID(h.self)) {
		return false
	}
	for _, m := range l.node.members {
		if m.Node == h.self.Node && m.id != RaftID(h.self) {
			return false
		}
	}
	return true
}

// lose takes a host down with its disk and brings it back with an empty one.
func (h *host) lose(generation byte) {
	h.crash()
	h.wipe(generation)
	h.start()
}

// Three voters lose their disks one after the other, leaders too, over a bad network: each time the new directory takes the vote over and
// nothing answered is lost, though in the end no disk is left of those that the quorum began with.
func TestEveryVotersDiskIsLostInTurn(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, 100+seed, 3)
			w.limits = Limits{SnapshotEntries: 20, TrailingEntries: 2}
			w.loss, w.dup, w.maxDelay = 0.05, 0.05, 20*time.Millisecond
			w.found(3)
			for round := range 6 {
				h := w.hosts[round%3]
				if round >= 3 && w.leader() != nil {
					h = w.leader()
				}
				for i := range 30 {
					w.mustSubmit(fmt.Sprintf("round-%d-word-%d", round, i))
				}
				h.lose(byte(round + 1))
				w.until(fmt.Sprintf("round %d: node %d votes with its new directory", round, h.self.Node), 60*time.Second, func() bool { return w.replaced(h) })
				if st := w.leader().node.Status(); len(st.Voters) != 3 || len(st.Observers) != 0 {
					t.Fatalf("round %d: voters %v, observers %v", round, st.Voters, st.Observers)
				}
			}
			w.settle()
		})
	}
}

// The vote moves only to a directory that has the log: until then a learner, with which a majority cannot be made.
func TestAnEmptyDirectoryHasNoVoteUntilItHasTheLog(t *testing.T) {
	w := newWorld(t, 120, 3)
	w.found(3)
	w.mustSubmit("a")
	leader := w.leader()
	lost, third := w.hosts[(leader.self.Node+1)%3], w.hosts[(leader.self.Node+2)%3]
	lost.crash()
	lost.wipe(1)
	// What the new directory asks reaches the leader, what the leader sends does not arrive.
	w.cut = func(from, to kafka.NodeID) bool { return from == leader.self.Node && to == lost.self.Node }
	lost.start()
	w.until("the new directory is taken in", 20*time.Second, func() bool { return leader.node.isMember(RaftID(lost.self)) })
	w.run(20 * time.Second)
	if w.leader() != leader || leader.node.isVoter(RaftID(lost.self)) {
		t.Fatalf("a directory without the log votes\n%s", w.trace.String())
	}
	third.crash()
	w.run(20 * time.Second)
	if l := w.leader(); l != nil {
		t.Fatalf("node %d leads with one old vote of three\n%s", l.self.Node, w.trace.String())
	}
	third.start()
	w.cut = nil
	w.until("the vote is taken over", 60*time.Second, func() bool { return w.replaced(lost) })
	w.settle()
}

// A disk that is lost again before its directory was promoted, and members that crash while votes move: the quorum comes to three votes.
func TestLossesWhileVotesMove(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, 200+seed, 3)
			w.limits = Limits{SnapshotEntries: 20, TrailingEntries: 2}
			w.found(3)
			for i := range 40 {
				w.mustSubmit(fmt.Sprintf("word-%d", i))
			}
			h := w.hosts[seed%3]
			h.lose(1)
			w.run(time.Duration(w.rnd.Int64N(int64(1500 * time.Millisecond))))
			if !w.replaced(h) { // else its vote counts, and with it two disks would be lost of three
				h.lose(2)
			}
			w.run(time.Duration(w.rnd.Int64N(int64(1500 * time.Millisecond))))
			if l := w.leader(); l != nil {
				l.crash()
				w.run(time.Duration(w.rnd.Int64N(int64(time.Second))))
				l.start()
			}
			w.until("three votes", 60*time.Second, func() bool { return w.replaced(h) && len(w.leader().node.Status().Voters) == 3 })
			w.settle()
		})
	}
}
