package quorum

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

func TestThreeNodesElectDecideAndRestart(t *testing.T) {
	w := newWorld(t, 1, 3)
	w.found(3)
	for i := range 20 {
		w.mustSubmit(fmt.Sprintf("w%d", i))
	}
	for _, h := range w.hosts {
		h.crash()
	}
	for _, h := range w.hosts {
		h.start()
	}
	w.mustSubmit("after")
	w.settle()
	if got := w.leader().state.words[:21]; got[0] != "w0" || got[20] != "after" {
		t.Fatalf("words %v", got)
	}
}

func TestSoleVoterLeadsAtOnce(t *testing.T) {
	w := newWorld(t, 1, 1)
	w.found(1)
	w.mustSubmit("a")
	if w.now > kafka.Elapsed(10*time.Millisecond) {
		t.Fatalf("first answer at %v", time.Duration(w.now))
	}
	w.hosts[0].crash()
	w.hosts[0].start()
	w.mustSubmit("b")
	w.settle()
}

func TestEmptyFolderNeverBootstrapsItself(t *testing.T) {
	w := newWorld(t, 1, 3)
	for _, h := range w.hosts {
		h.start()
	}
	w.run(30 * time.Second)
	if w.leader() != nil || len(w.leaders) > 0 {
		t.Fatal("a quorum began by itself")
	}
}

func TestBootstrapIsRefusedTwice(t *testing.T) {
	self := Voter{Node: 3, Directory: kafka.DirectoryID{1}}
	f := Founding{ClusterID: "a", Voters: []Voter{self}}
	mem := vfs.NewMem(1)
	if err := Bootstrap(mem, "q", self, f); err != nil {
		t.Fatal(err)
	}
	if err := Bootstrap(mem, "q", self, f); !errors.Is(err, ErrBootstrapped) {
		t.Fatalf("second bootstrap: %v", err)
	}
	f.ClusterID = "b"
	if err := Bootstrap(mem, "q", self, f); !errors.Is(err, ErrBootstrapped) {
		t.Fatalf("bootstrap of another cluster: %v", err)
	}
}

func TestBootstrapIsRefusedAfterJoining(t *testing.T) {
	w := newWorld(t, 1, 4)
	w.found(3)
	w.until("node 3 joins", 10*time.Second, func() bool { return w.hosts[3].node.isMember(w.hosts[3].node.id) })
	h := w.hosts[3]
	h.crash()
	err := Bootstrap(h.disk, "q", h.self, Founding{ClusterID: "b", Voters: []Voter{h.self}})
	if !errors.Is(err, ErrBootstrapped) {
		t.Fatalf("bootstrap of a member: %v", err)
	}
}

func TestLearnersJoinByAskingAndGetASnapshot(t *testing.T) {
	w := newWorld(t, 2, 5)
	w.limits = Limits{SnapshotEntries: 10, TrailingEntries: 2}
	w.found(3)
	for i := range 50 {
		w.mustSubmit(fmt.Sprintf("w%d", i))
	}
	w.settle()
	st := w.leader().node.Status()
	if len(st.Voters) != 3 || len(st.Observers) != 2 || st.Observers[1].Node != 4 {
		t.Fatalf("voters %v, observers %v", st.Voters, st.Observers)
	}
	for _, h := range w.hosts[3:] {
		if h.node.ClusterID() != testCluster {
			t.Fatalf("node %d learned cluster %q", h.self.Node, h.node.ClusterID())
		}
	}
	for range 400 { // learners alone never lead
		w.step()
	}
	for _, id := range w.leaders {
		if NodeOf(id) > 2 {
			t.Fatalf("learner %d led", NodeOf(id))
		}
	}
}

func TestSubmitElsewhereNamesTheLeader(t *testing.T) {
	w := newWorld(t, 3, 3)
	w.found(3)
	w.mustSubmit("a")
	leader := w.leader()
	for _, h := range w.hosts {
		if h == leader {
			continue
		}
		var no *NotLeaderError
		if err := w.submit(h, "b")(); !errors.As(err, &no) || no.Leader != leader.self.Node || no.Code() != kafka.NotController {
			t.Fatalf("node %d answers %v", h.self.Node, err)
		}
	}
}

func TestLeaderCutOffStopsDecidingAndRefusesWhatWaits(t *testing.T) {
	w := newWorld(t, 4, 3)
	w.found(3)
	w.mustSubmit("a")
	old := w.leader()
	w.cut = func(from, to kafka.NodeID) bool { return from == old.self.Node || to == old.self.Node }
	answer := w.submit(old, "lost")
	w.until("the old leader steps down", 3*time.Second, func() bool { return !old.node.Leading() })
	var no *NotLeaderError
	if err := answer(); !errors.As(err, &no) {
		t.Fatalf("what waited was answered %v", err)
	}
	w.until("another leads", 5*time.Second, func() bool { return w.leader() != nil && w.leader() != old })
	w.mustSubmit("b")
	w.settle()
}

// TestALeaderThatStoodStillCampaignsByOurTimerOnly: the ticks that it catches up with make raft step down, and those after that must
// not reach the election timer of raft, which no seed rules.
func TestALeaderThatStoodStillCampaignsByOurTimerOnly(t *testing.T) {
	w := newWorld(t, 15, 3)
	w.found(3)
	w.mustSubmit("a")
	n := w.leader().node
	term := n.term
	w.now = w.now.Add(maxCatchUpTicks * DefaultTick)
	n.Tick(w.now)
	n.Process(w.now)
	if n.Leading() || n.role != raft.StateFollower || n.term != term {
		t.Fatalf("after the pause it is %v in term %d, want a follower in term %d", n.role, n.term, term)
	}
	if wait := n.timer.campaign.Sub(w.now); wait < DefaultElection {
		t.Errorf("it campaigns in %v, want at least %v", wait, DefaultElection)
	}
}

func TestClosedConnectionReplacesTheLeaderQuickly(t *testing.T) {
	for seed := range uint64(50) {
		w := newWorld(t, seed, 3)
		w.found(3)
		w.mustSubmit("a")
		old, died := w.leader(), w.now
		old.crash()
		for _, h := range w.hosts {
			if h != old {
				h.node.PeerDown(old.self.Node, kafka.NoBrokerEpoch, w.now)
			}
		}
		w.until("another leader", 2*time.Second, func() bool { return w.leader() != nil })
		if took := w.now.Sub(died); took > 700*time.Millisecond {
			t.Errorf("seed %d: %v without a leader", seed, took)
		}
	}
}

func TestFalseSuspicionDoesNotDeposeALivingLeader(t *testing.T) {
	w := newWorld(t, 5, 3)
	w.found(3)
	w.mustSubmit("a")
	w.run(time.Second)
	leader, term := w.leader(), w.leader().node.term
	for _, h := range w.hosts {
		if h != leader {
			h.node.PeerDown(leader.self.Node, kafka.NoBrokerEpoch, w.now)
			break
		}
	}
	w.run(3 * time.Second)
	if w.leader() != leader || leader.node.term != term {
		t.Fatalf("term %d is over\n%s", term, w.trace.String())
	}
}

func TestRepliesComeInOrderAndDependOnWhatIsBeforeThem(t *testing.T) {
	w := newWorld(t, 6, 3)
	w.found(3)
	w.mustSubmit("a")
	w.run(100 * time.Millisecond)
	leader := w.leader()
	var got []string
	for _, word := range []string{"b", "?", "c", "?"} {
		leader.node.Submit(word, w.now, func(reply any, err error) { got = append(got, fmt.Sprintf("%s %v %v", word, reply, err)) })
	}
	leader.node.Process(w.now)
	if len(got) != 0 {
		t.Fatalf("answered before commit: %v", got)
	}
	w.run(time.Second)
	want := "[b 1 <nil> ? 2 <nil> c 2 <nil> ? 3 <nil>]"
	if fmt.Sprint(got) != want {
		t.Fatalf("got %v, want %s", got, want)
	}
	leader.node.Submit("?", w.now, func(reply any, err error) { got = append(got, "at once") })
	leader.node.Process(w.now)
	if got[len(got)-1] != "at once" {
		t.Fatal("a question with nothing before it waits")
	}
}

func TestResignHandsOver(t *testing.T) {
	w := newWorld(t, 7, 3)
	w.found(3)
	w.mustSubmit("a")
	w.run(time.Second)
	old, at := w.leader(), w.now
	old.node.Resign(w.now)
	old.node.Process(w.now)
	answer := w.submit(old, "b")
	w.until("another leads", time.Second, func() bool { return w.leader() != nil && w.leader() != old })
	if took := w.now.Sub(at); took > 100*time.Millisecond {
		t.Errorf("handing over took %v", took)
	}
	w.run(100 * time.Millisecond)
	if err := answer(); err == nil || err.Error() == "no answer yet" {
		t.Fatalf("what came during the hand-over was answered %v", err)
	}
	w.settle()
}

// TestTheTermOfWhatIsAppliedTellsThatTheSuccessorHasCommitted: a leader that stops waits for it, so that what it decided last is known to
// who comes after before it is gone.
func TestTheTermOfWhatIsAppliedTellsThatTheSuccessorHasCommitted(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed, 3)
		w.found(3)
		w.mustSubmit("a")
		old := w.leader()
		before, decided := old.node.appliedTerm(), old.node.applied
		old.node.Resign(w.now)
		old.node.Process(w.now)
		w.until("the old leader applied an entry of the next term", time.Second, func() bool { return old.node.appliedTerm() != before })
		successor := w.leader()
		if successor == nil || successor == old {
			t.Fatalf("seed %d: nobody else leads when the old leader applies an entry of the next term", seed)
		}
		if successor.node.applied <= decided {
			t.Errorf("seed %d: the successor has applied up to %d, want more than %d", seed, successor.node.applied, decided)
		}
	}
}

// TestAQuorumThatStartsAsAWholeHasALeaderSoon: nobody waits for the long timeout that is for a leader who falls silent.
func TestAQuorumThatStartsAsAWholeHasALeaderSoon(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed, 3)
		w.found(3)
		w.until("a leader", DefaultElection, func() bool { return w.leader() != nil })
		for _, h := range w.hosts {
			h.crash()
		}
		w.flight = nil // what the dead leader sent would look like life
		for _, h := range w.hosts {
			h.start()
		}
		w.until("a leader after the restart of all", DefaultElection, func() bool { return w.leader() != nil })
	}
}

// TestAVoterThatComesBackDoesNotDeposeTheLeader: its early pre-vote is refused while the others hear the leader, even when it does not.
func TestAVoterThatComesBackDoesNotDeposeTheLeader(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed, 3)
		w.found(3)
		w.until("a leader", 5*time.Second, func() bool { return w.leader() != nil })
		w.mustSubmit("a")
		leader, back := w.leader(), w.hosts[0]
		if back == leader {
			back = w.hosts[1]
		}
		term := leader.node.term
		back.crash()
		w.run(time.Second)
		w.cut = func(from, to kafka.NodeID) bool { // whom it does not reach in time
			return from == leader.self.Node && to == back.self.Node
		}
		back.start()
		w.run(3 * time.Second)
		w.cut = nil
		w.settle()
		if w.leader() != leader || leader.node.term != term {
			t.Fatalf("seed %d: node %d leads in term %d, before it was node %d in term %d", seed, w.leader().self.Node, w.leader().node.term, leader.self.Node, term)
		}
	}
}
