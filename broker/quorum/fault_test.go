package quorum

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// wipe gives a host that is down an empty disk and another directory id.
func (h *host) wipe(generation byte) {
	h.w.logf("node %d is wiped", h.self.Node)
	h.disk = vfs.NewMem(uint64(generation)*7 + uint64(h.self.Node))
	h.self.Directory[2] = generation
}

func TestWipedVoterIsReplacedAndItsOldVoteIsGone(t *testing.T) {
	w := newWorld(t, 8, 3)
	w.limits = Limits{SnapshotEntries: 20, TrailingEntries: 2}
	w.found(3)
	for i := range 40 {
		w.mustSubmit(fmt.Sprintf("w%d", i))
	}
	h := w.hosts[0]
	if w.leader() == h {
		h.node.Resign(w.now)
		h.node.Process(w.now)
		w.until("another leads", time.Second, func() bool { return w.leader() != nil && w.leader() != h })
	}
	old := h.self
	h.crash()
	h.wipe(1)
	h.start()
	w.until("the new directory votes", 20*time.Second, func() bool {
		l := w.leader()
		return l != nil && l.node.isVoter(RaftID(h.self)) && !l.node.isMember(RaftID(old)) && len(l.node.conf.GetVotersOutgoing()) == 0
	})
	w.settle()
	if st := w.leader().node.Status(); len(st.Voters) != 3 || len(st.Observers) != 0 {
		t.Fatalf("voters %v, observers %v", st.Voters, st.Observers)
	}
	for _, other := range w.hosts[1:] { // the new vote counts
		other.crash()
		w.until("the rest leads", 20*time.Second, func() bool { return w.leader() != nil })
		w.mustSubmit(fmt.Sprintf("without-%d", other.self.Node))
		other.start()
		w.settle()
	}
}

func TestTwoWipedVotersOfThreeCannotLead(t *testing.T) {
	w := newWorld(t, 9, 3)
	w.found(3)
	w.mustSubmit("precious")
	for _, h := range w.hosts {
		h.crash()
	}
	w.hosts[0].wipe(1)
	w.hosts[1].wipe(1)
	clear(w.leaders)
	for _, h := range w.hosts {
		h.start()
	}
	w.run(20 * time.Second)
	if len(w.leaders) != 0 {
		t.Fatalf("somebody led without a majority of the old votes\n%s", w.trace.String())
	}
}

func TestNewLeaderSuspectsTheOneThatDied(t *testing.T) {
	w := newWorld(t, 14, 3)
	w.found(3)
	w.mustSubmit("a")
	w.run(100 * time.Millisecond)
	old := w.leader()
	old.crash()
	for _, h := range w.hosts {
		if h != old {
			h.node.PeerDown(old.self.Node, kafka.NoBrokerEpoch, w.now)
		}
	}
	w.until("another leads", 2*time.Second, func() bool { return w.leader() != nil })
	w.run(10 * time.Millisecond)
	if got := w.leader().state.suspected; len(got) != 1 || got[0] != old.self.Node {
		t.Fatalf("suspected %v, want node %d", got, old.self.Node)
	}
}

func TestSecondProcessOfALivingNodeIDIsRefused(t *testing.T) {
	w := newWorld(t, 10, 3)
	w.found(3)
	w.mustSubmit("a")
	leader := w.leader()
	victim := w.hosts[0]
	if victim == leader {
		victim = w.hosts[1]
	}
	twin := Voter{Node: victim.self.Node, Directory: kafka.DirectoryID{9}}
	leader.node.Step(Message{From: twin.Node, To: leader.self.Node, Cluster: testCluster, Join: &Join{Member: twin}}, w.now)
	w.settle()
	if leader.node.isMember(RaftID(twin)) {
		t.Fatal("the twin was taken in")
	}
}

func TestMessagesOfAnotherClusterAreRefused(t *testing.T) {
	w := newWorld(t, 11, 3)
	w.found(3)
	w.mustSubmit("a")
	stranger := Voter{Node: 7, Directory: kafka.DirectoryID{9}}
	leader := w.leader()
	leader.node.Step(Message{From: 7, To: leader.self.Node, Cluster: "other", Join: &Join{Member: stranger}}, w.now)
	w.settle()
	if leader.node.isMember(RaftID(stranger)) {
		t.Fatal("a node of another cluster was taken in")
	}
}

func TestFailedDiskTakesTheNodeOffline(t *testing.T) {
	w := newWorld(t, 12, 3)
	w.found(3)
	w.mustSubmit("a")
	sick := w.leader()
	sick.disk.Inject(vfs.Fault{Op: vfs.OpSync, Err: syscall.EIO})
	answer := w.submit(sick, "b")
	if sick.node.Err() == nil {
		t.Fatal("an fsync error was survived")
	}
	if err := answer(); err == nil {
		t.Fatal("what was not on disk was answered")
	}
	w.until("another leads", 5*time.Second, func() bool { return w.leader() != nil && w.leader() != sick })
	w.mustSubmit("c")
	sick.node = nil
	sick.disk = sick.disk.CrashClone(1) // without the fault
	w.settle()
}

func TestFullDiskStallsTheNodeUntilThereIsSpace(t *testing.T) {
	w := newWorld(t, 13, 1)
	w.found(1)
	w.mustSubmit("a")
	h := w.hosts[0]
	var facts []StalledFact
	h.node.opts.Observe = func(f Fact) {
		if s, ok := f.(StalledFact); ok {
			facts = append(facts, s)
		}
	}
	h.disk.SetQuota(h.disk.Used())
	answer := w.submit(h, "b")
	w.run(2 * time.Second)
	if h.node.Err() != nil || answer() == nil || !h.node.Status().Stalled {
		t.Fatalf("on a full disk: node %v, answer %v", h.node.Err(), answer())
	}
	h.disk.SetQuota(-1)
	w.until("the answer", 2*time.Second, func() bool { return answer() == nil })
	if len(facts) != 2 || !errors.Is(facts[0].Err, syscall.ENOSPC) || facts[1].Err != nil || h.node.Status().Stalled {
		t.Errorf("facts of the stall: %v; stalled now: %v", facts, h.node.Status().Stalled)
	}
	w.settle()
}

// TestRandomFaults runs seeds of crashes, wipes of nothing, losses, duplicates and cuts, with commands all the time; then all must agree and nothing
// answered may be gone. FAULT_SEED runs one, FAULT_SEEDS that many.
func TestRandomFaults(t *testing.T) {
	seeds := 60
	if s := os.Getenv("FAULT_SEEDS"); s != "" {
		seeds, _ = strconv.Atoi(s)
	}
	first := 0
	if s := os.Getenv("FAULT_SEED"); s != "" {
		first, _ = strconv.Atoi(s)
		seeds = 1
	}
	for seed := first; seed < first+seeds; seed++ {
		randomFaults(t, uint64(seed))
	}
}

func TestSameSeedSameTrace(t *testing.T) {
	for seed := range uint64(5) {
		if a, b := randomFaults(t, seed), randomFaults(t, seed); a != b {
			t.Fatalf("seed %d gives two traces", seed)
		}
	}
}

func randomFaults(t *testing.T, seed uint64) string {
	t.Helper()
	w := newWorld(t, seed, 3+int(seed%3))
	w.limits = Limits{SnapshotEntries: 12, TrailingEntries: 3}
	w.logf("seed %d", seed)
	w.found(3)
	words := 0
	for range 150 {
		w.fault()
		for range 1 + w.rnd.IntN(8) {
			h := w.hosts[w.rnd.IntN(len(w.hosts))]
			if l := w.leader(); l != nil && w.rnd.IntN(3) > 0 {
				h = l
			}
			if h.node != nil {
				words++
				w.submit(h, fmt.Sprintf("w%d", words))
			}
			w.run(time.Duration(w.rnd.Int64N(int64(60 * time.Millisecond))))
		}
		w.checkAnswered()
	}
	w.settle()
	w.logf("answered %d of %d, %d leaders", len(w.answered), words, len(w.leaders))
	return w.trace.String()
}

// fault changes the weather.
func (w *world) fault() {
	h := w.hosts[w.rnd.IntN(len(w.hosts))]
	switch w.rnd.IntN(10) {
	case 0, 1:
		if h.node != nil {
			h.crash()
			for _, o := range w.hosts {
				if o.node != nil && w.rnd.IntN(2) == 0 {
					o.node.PeerDown(h.self.Node, kafka.NoBrokerEpoch, w.now)
				}
			}
		}
	case 2, 3, 4:
		for _, h := range w.hosts {
			if h.node == nil {
				h.start()
				break
			}
		}
	case 5:
		w.loss, w.dup = w.rnd.Float64()*0.3, w.rnd.Float64()*0.3
		w.maxDelay = time.Duration(1 + w.rnd.Int64N(int64(150*time.Millisecond)))
	case 6:
		w.cut = func(from, to kafka.NodeID) bool { return from == h.self.Node || to == h.self.Node }
	case 7:
		w.cut = func(from, _ kafka.NodeID) bool { return from == h.self.Node } // one way
	case 8:
		w.cut, w.loss, w.dup, w.maxDelay = nil, 0, 0, 2*time.Millisecond
	case 9: // the process or its disk pauses: timers fire late, and many at once
		h.still = w.now.Add(time.Duration(w.rnd.Int64N(int64(maxCatchUpTicks * DefaultTick))))
	}
}
