package quorum

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// forged is what raft panics at when it believes it, or what would be lost on the way to the disk, each from a member of the
// configuration to another.
func forged(from, to, term, last uint64) map[string]*raftpb.Message {
	message := func(t raftpb.MessageType) *raftpb.Message {
		return &raftpb.Message{Type: t.Enum(), From: &from, To: &to, Term: &term}
	}
	entries := func(prev uint64, es ...*raftpb.Entry) *raftpb.Message {
		m := message(raftpb.MsgApp)
		m.Index, m.LogTerm, m.Entries = proto.Uint64(prev), proto.Uint64(1), es
		return m
	}
	entry := func(index, term uint64, t raftpb.EntryType, data []byte) *raftpb.Entry {
		return &raftpb.Entry{Index: &index, Term: &term, Type: t.Enum(), Data: data}
	}
	snapshot := func(index uint64, data []byte, voters ...uint64) *raftpb.Message {
		m := message(raftpb.MsgSnap)
		m.Snapshot = &raftpb.Snapshot{Data: data, Metadata: &raftpb.SnapshotMetadata{
			Index: &index, Term: &term, ConfState: &raftpb.ConfState{Voters: voters}}}
		return m
	}
	state := encodeState(nil, nil)
	out := map[string]*raftpb.Message{
		"heartbeat that commits beyond the log":    message(raftpb.MsgHeartbeat),
		"acknowledgement beyond the log":           message(raftpb.MsgAppResp),
		"acknowledgement of the last number":       message(raftpb.MsgAppResp),
		"vote without term":                        message(raftpb.MsgVote),
		"vote of the last term":                    message(raftpb.MsgVote),
		"heartbeat from the member itself":         message(raftpb.MsgHeartbeat),
		"entries that leave a gap":                 entries(last, entry(last+3, term, raftpb.EntryNormal, nil)),
		"an entry of the past":                     entries(last, entry(1, term, raftpb.EntryNormal, nil)),
		"an entry of a later term":                 entries(last, entry(last+1, term+1, raftpb.EntryNormal, nil)),
		"an entry that is too large":               entries(last, entry(last+1, term, raftpb.EntryNormal, make([]byte, DefaultMaxEntryBytes+1))),
		"a configuration change that is none":      entries(last, entry(last+1, term, raftpb.EntryConfChangeV2, []byte{0xff})),
		"a configuration change of the old kind":   entries(last, entry(last+1, term, raftpb.EntryConfChange, nil)),
		"a snapshot that is none":                  message(raftpb.MsgSnap),
		"a snapshot that cannot be read":           snapshot(last+10, []byte{0xff}, from, to),
		"a snapshot that names a voter twice":      snapshot(last+10, state, from, to, to),
		"a snapshot without voters":                snapshot(last+10, state),
		"a snapshot at the end of the numbers":     snapshot(math.MaxUint64, state, from, to),
		"entries after the end of all the numbers": entries(math.MaxUint64, entry(0, term, raftpb.EntryNormal, nil)),
	}
	out["heartbeat that commits beyond the log"].Commit = proto.Uint64(last + 1)
	out["acknowledgement beyond the log"].Index = proto.Uint64(last + 1)
	out["acknowledgement of the last number"].Index = proto.Uint64(math.MaxUint64)
	out["vote without term"].Term = nil
	out["vote of the last term"].Term = proto.Uint64(math.MaxUint64)
	out["heartbeat from the member itself"].From = &to
	return out
}

// TestForgedMessagesAreRefused: a leader and a follower take no notice of any of them, and their quorum goes on.
func TestForgedMessagesAreRefused(t *testing.T) {
	names := forged(1, 2, 1, 1)
	for name := range names {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 77, 3)
			w.found(3)
			w.mustSubmit("a")
			w.run(time.Second)
			leader := w.leader()
			for _, h := range w.hosts {
				from := leader
				if h == leader {
					from = w.hosts[(int(h.self.Node)+1)%3]
				}
				last, _ := h.node.log.LastIndex()
				m := forged(from.node.id, h.node.id, h.node.term, last)[name]
				if h != leader && m.GetType() == raftpb.MsgAppResp {
					continue // only a leader listens to these
				}
				before := h.node.raft.BasicStatus().HardState
				refused := 0
				h.node.opts.Observe = func(f Fact) {
					if _, ok := f.(RefusedFact); ok {
						refused++
					}
				}
				h.node.Step(Message{Cluster: testCluster, From: NodeOf(m.GetFrom()), To: h.self.Node, Raft: m}, w.now)
				h.node.Process(w.now)
				if after := h.node.raft.BasicStatus().HardState; refused != 1 || !proto.Equal(before, after) || h.node.Err() != nil {
					t.Errorf("node %d, leading %v: refused %d times, from %v to %v, %v", h.self.Node, h == leader, refused, before, after, h.node.Err())
				}
			}
			w.mustSubmit("b")
			w.settle()
		})
	}
}

// A change that was committed and that the configuration does not allow ends the part of this member, not the process.
func TestImpossibleConfigurationChangeTakesTheNodeOffline(t *testing.T) {
	w := newWorld(t, 78, 3)
	w.found(3)
	w.mustSubmit("a")
	w.run(time.Second)
	leader := w.leader()
	victim := w.hosts[(int(leader.self.Node)+1)%3]
	cc := &raftpb.ConfChangeV2{}
	for _, h := range w.hosts {
		cc.Changes = append(cc.Changes, &raftpb.ConfChangeSingle{Type: raftpb.ConfChangeRemoveNode.Enum(), NodeId: &h.node.id})
	}
	data, err := proto.Marshal(cc)
	if err != nil {
		t.Fatal(err)
	}
	last, _ := victim.node.log.LastIndex()
	lastTerm, _ := victim.node.log.Term(last)
	next := last + 1
	m := &raftpb.Message{
		Type: raftpb.MsgApp.Enum(), From: &leader.node.id, To: &victim.node.id, Term: &leader.node.term,
		Index: &last, LogTerm: &lastTerm, Commit: &next,
		Entries: []*raftpb.Entry{{Index: &next, Term: &leader.node.term, Type: raftpb.EntryConfChangeV2.Enum(), Data: data}},
	}
	victim.node.Step(Message{Cluster: testCluster, From: leader.self.Node, To: victim.self.Node, Raft: m}, w.now)
	victim.node.Process(w.now)
	if err := victim.node.Err(); err == nil || !strings.Contains(err.Error(), "change the configuration") {
		t.Errorf("the node goes on: %v", err)
	}
}

// Messages that say what honest members say pass: see the other tests of this package; here are the edges.
func TestJudge(t *testing.T) {
	const self, peer = uint64(2) << 32, uint64(1)<<32 | 7
	b := bounds{self: self, term: 5, leading: true, last: 10, maxEntry: 3}
	f := func(m *raftpb.Message, want string) {
		t.Helper()
		if m.From == nil {
			m.From = proto.Uint64(peer)
		}
		if m.Term == nil {
			m.Term = proto.Uint64(5)
		}
		if got := b.judge(m); got != want {
			t.Errorf("judge(%v) = %q, want %q", m, got, want)
		}
	}
	u := proto.Uint64
	f(&raftpb.Message{Type: raftpb.MsgHeartbeat.Enum(), Commit: u(10)}, "")
	f(&raftpb.Message{Type: raftpb.MsgHeartbeat.Enum(), Commit: u(11)}, "commit of index 11, this log ends at 10")
	f(&raftpb.Message{Type: raftpb.MsgHeartbeat.Enum(), Commit: u(11), Term: u(4)}, "")
	f(&raftpb.Message{Type: raftpb.MsgAppResp.Enum(), Index: u(10)}, "")
	f(&raftpb.Message{Type: raftpb.MsgAppResp.Enum(), Index: u(11)}, "acknowledgement of index 11, this log ends at 10")
	f(&raftpb.Message{Type: raftpb.MsgAppResp.Enum(), Index: u(11), Reject: proto.Bool(true)}, "")
	f(&raftpb.Message{Type: raftpb.MsgAppResp.Enum(), Index: u(11), Term: u(6)}, "")
	f(&raftpb.Message{Type: raftpb.MsgVote.Enum(), Term: u(maxPlausible - 1)}, "")
	f(&raftpb.Message{Type: raftpb.MsgVote.Enum(), Term: u(maxPlausible)}, fmt.Sprintf("term %d", uint64(maxPlausible)))
	f(&raftpb.Message{Type: raftpb.MsgVote.Enum(), From: u(self)}, "from this member itself")
	f(&raftpb.Message{Type: raftpb.MsgVote.Enum(), From: u(0)}, "from raft id 0")
	f(&raftpb.Message{Type: raftpb.MsgVote.Enum(), From: u(raft.LocalAppendThread)}, "from raft id ffffffffffffffff")
	normal := func(index, term uint64, data string) *raftpb.Entry {
		return &raftpb.Entry{Index: &index, Term: &term, Data: []byte(data)}
	}
	app := func(es ...*raftpb.Entry) *raftpb.Message {
		return &raftpb.Message{Type: raftpb.MsgApp.Enum(), Index: u(20), LogTerm: u(3), Entries: es}
	}
	f(app(), "")
	f(app(normal(21, 3, "abc"), normal(22, 5, "")), "")
	f(app(normal(21, 3, "abcd")), "entry 21 of 4 bytes")
	f(app(normal(21, 2, "")), "entry 21 of term 2 in the place of entry 21 after term 3")
	f(app(normal(21, 5, ""), normal(22, 4, "")), "entry 22 of term 4 in the place of entry 22 after term 5")
	f(app(normal(21, 6, "")), "entry 21 of term 6 in the place of entry 21 after term 3")
}

// Any raft message, of any sender, to a member in any role: it is taken or refused, and the member goes on or offline.
func FuzzStep(f *testing.F) {
	for _, m := range forged(1, 2, 3, 4) {
		if len(m.GetEntries()) > 0 && len(m.GetEntries()[0].GetData()) > 1000 {
			continue
		}
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		for role := range uint8(3) {
			f.Add(role, uint8(1), int8(0), b)
		}
	}
	f.Fuzz(func(t *testing.T, role, from uint8, terms int8, raw []byte) {
		m := new(raftpb.Message)
		if proto.Unmarshal(raw, m) != nil {
			return
		}
		w := newWorld(t, 79, 3)
		w.found(3)
		w.until("a leader", 20*time.Second, func() bool { return w.leader() != nil })
		h := w.leader()
		switch role % 3 {
		case 1:
			h = w.hosts[(int(h.self.Node)+1)%3]
		case 2: // campaigns
			h = w.hosts[(int(h.self.Node)+1)%3]
			w.now = w.now.Add(time.Minute)
			h.node.Tick(w.now)
			h.node.Process(w.now)
		}
		// What is not a member's never gets far: name members, and a term near theirs.
		m.To = &h.node.id
		if from%4 < 3 {
			m.From = &w.hosts[from%4].node.id
		}
		if terms != math.MinInt8 {
			m.Term = proto.Uint64(h.node.raft.BasicStatus().HardState.GetTerm() + uint64(terms))
		}
		h.state.onApply = func(uint64, []byte) {}
		for range 2 {
			h.node.Step(Message{Cluster: testCluster, From: NodeOf(m.GetFrom()), To: h.self.Node, Raft: m}, w.now)
			h.node.Process(w.now)
		}
		w.now = w.now.Add(time.Second)
		h.node.Tick(w.now)
		h.node.Process(w.now)
	})
}

// A join of somebody who cannot be a member is not proposed: no member could apply it.
func TestJoinOfAnImpossibleMemberIsRefused(t *testing.T) {
	w := newWorld(t, 80, 3)
	w.found(3)
	w.mustSubmit("a")
	leader := w.leader()
	for _, v := range []Voter{{Node: -1, Directory: [16]byte{9}}, {Node: -1 << 31, Directory: [16]byte{9}}, {Node: 7}} {
		leader.node.Step(Message{From: v.Node, To: leader.self.Node, Join: &Join{Member: v}}, w.now)
		leader.node.Process(w.now)
	}
	w.run(time.Second)
	for _, h := range w.hosts {
		if err := h.node.Err(); err != nil {
			t.Errorf("node %d: %v", h.self.Node, err)
		}
		if n := len(h.node.members); n != 3 {
			t.Errorf("node %d knows %d members, want 3", h.self.Node, n)
		}
	}
}

// Answers of strangers leave no trace, or there could be any number of them.
func TestAnswersOfStrangersAreForgotten(t *testing.T) {
	w := newWorld(t, 81, 3)
	w.found(3)
	w.mustSubmit("a")
	w.run(time.Second)
	n := w.leader().node
	before := len(n.heard)
	for i := range uint64(100) {
		from := (i+10)<<32 | 5
		m := &raftpb.Message{Type: raftpb.MsgHeartbeatResp.Enum(), From: &from, To: &n.id, Term: &n.term}
		n.Step(Message{Cluster: testCluster, From: NodeOf(from), To: n.opts.Self.Node, Raft: m}, w.now)
		n.Process(w.now)
	}
	if len(n.heard) != before || before != 2 {
		t.Errorf("the leader keeps answers of %d members, before of %d, want 2", len(n.heard), before)
	}
}
