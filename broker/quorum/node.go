package quorum

import (
	"fmt"
	"math"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/raftlog"
)

// Node is one member of the quorum, or an outsider that asks to become one. See the package comment for who may call what.
type Node struct {
	opts Options
	id   uint64
	log  *raftlog.Log
	raft *raft.RawNode
	now  kafka.Elapsed // the latest time given to any method

	// What the edge was told last.
	role   raft.StateType
	leader uint64
	term   uint64

	// Applied state.
	applied uint64
	commit  uint64
	conf    *raftpb.ConfState
	members memberTable
	cluster string // "" until known
	learned bool   // cluster is to be written to the log
	// wantSnapshot: a member needs a snapshot that has it as a member, and the latest has not.
	wantSnapshot bool

	// certain bounds the end of raft's log until Process: entries that it has taken in since may have replaced longer ones.
	certain uint64
	timer   electionTimer
	lead    leadership
	joinAt  kafka.Elapsed
	heard   map[uint64]heard // by raft id, of members that answered us while leading
	down    []downPeer       // whose connection was closed and who said nothing since, latest last
	stalled *raft.Ready      // could not be persisted because the disk is full; tried again
	offline error            // the disk failed or the node was closed
}

// heard is what a leader knows of a member's answers.
type heard struct {
	last, caughtUp kafka.Elapsed
	snapshotSent   kafka.Elapsed // when the one was sent that raft still waits for
	match          uint64        // last index acknowledged
}

const never = kafka.Elapsed(-1)

// downPeer is a node whose process seems to have died. A follower remembers it for the time when it leads: often it is the leader that died, and
// nobody else will notice that.
type downPeer struct {
	node  kafka.NodeID
	epoch kafka.BrokerEpoch
	at    kafka.Elapsed
}

// downMemory is how long a closed connection tells anything about a node; later its session has ended anyway.
const downMemory = 10 * time.Second

// heardFrom forgets a closed connection when its node speaks again. What arrives right after the closing was sent before it.
func (n *Node) heardFrom(node kafka.NodeID) {
	if len(n.down) == 0 {
		return
	}
	n.down = slices.DeleteFunc(n.down, func(d downPeer) bool {
		return d.node == node && n.now >= d.at.Add(n.opts.Timing.SuspectMax) || n.now >= d.at.Add(downMemory)
	})
}

// Open starts a member on its folder. A folder that nobody bootstrapped makes an outsider.
func Open(o Options, now kafka.Elapsed) (*Node, error) {
	o.Timing, o.Limits = o.Timing.withDefaults(), o.Limits.withDefaults()
	if o.Observe == nil {
		o.Observe = func(Fact) {}
	}
	log, err := raftlog.Open(o.FS, o.Dir, raftlog.Options{
		Identity:        raftlog.Identity{ClusterID: o.ClusterID, Node: o.Self.Node, Directory: o.Self.Directory},
		TrailingEntries: o.Limits.TrailingEntries,
	})
	if err != nil {
		return nil, fmt.Errorf("open quorum: %w", err)
	}
	n := &Node{opts: o, id: RaftID(o.Self), log: log, now: now, conf: &raftpb.ConfState{}, heard: map[uint64]heard{}, certain: math.MaxUint64}
	n.cluster = log.Identity().ClusterID
	if n.cluster == "" {
		n.cluster, n.learned = o.ClusterID, o.ClusterID != ""
	}
	if err := n.restore(); err != nil {
		log.Close()
		return nil, fmt.Errorf("open quorum: %w", err)
	}
	n.raft, err = raft.NewRawNode(&raft.Config{
		ID:                        n.id,
		ElectionTick:              max(2, int(o.Timing.Election/o.Timing.Tick)),
		HeartbeatTick:             1,
		Storage:                   storage{log, n},
		Applied:                   n.applied,
		MaxSizePerMsg:             uint64(o.Limits.MaxMessageBytes),
		MaxInflightMsgs:           o.Limits.MaxInflightMessages,
		CheckQuorum:               true,
		PreVote:                   true,
		DisableProposalForwarding: true,
		StepDownOnRemoval:         true,
		Logger:                    quiet{},
	})
	if err != nil {
		log.Close()
		return nil, fmt.Errorf("open quorum: %w", err)
	}
	st := n.raft.BasicStatus()
	n.term, n.commit = st.HardState.GetTerm(), st.HardState.GetCommit()
	n.startTimer()
	return n, nil
}

// restore brings the machine to the latest snapshot.
func (n *Node) restore() error {
	index, data, err := n.log.LoadSnapshot()
	if err != nil || index == 0 {
		return err
	}
	_, n.conf, err = n.log.InitialState()
	if err != nil {
		return err
	}
	return n.restoreSnapshot(index, data)
}

// Tick lets time pass: timers fire that are due at now.
func (n *Node) Tick(now kafka.Elapsed) {
	n.advance(now)
	if n.offline != nil || n.stalled != nil {
		return
	}
	if n.role == raft.StateLeader {
		n.tickLeader()
	} else {
		n.tickFollower()
	}
	n.askToJoin()
}

// Deadline is when Tick should be called next, at the latest.
func (n *Node) Deadline() kafka.Elapsed {
	if n.offline != nil {
		return n.now.Add(time.Hour)
	}
	if n.stalled != nil {
		return n.now.Add(n.opts.Timing.Tick)
	}
	if n.role == raft.StateLeader {
		return n.lead.nextTick
	}
	d := n.timer.deadline(n)
	if n.shouldJoin() {
		d = min(d, n.joinAt)
	}
	return d
}

func (n *Node) advance(now kafka.Elapsed) { n.now = max(n.now, now) }

// Step takes in a message of another member. The node keeps parts of m; nobody may change it any more.
func (n *Node) Step(m Message, now kafka.Elapsed) {
	n.advance(now)
	if n.offline != nil || n.stalled != nil || m.To != n.opts.Self.Node {
		return
	}
	if m.Cluster != "" && n.cluster != "" && m.Cluster != n.cluster {
		reason := fmt.Sprintf("message of cluster %q in cluster %q", m.Cluster, n.cluster)
		if m.Join != nil {
			n.refuse(m.Join.Member, reason)
		} else {
			n.opts.Observe(RefusedFact{From: m.From, Reason: reason})
		}
		return
	}
	n.heardFrom(m.From)
	switch {
	case m.Raft != nil:
		n.stepRaft(m)
	case m.Join != nil && !m.Join.Member.possible():
		n.opts.Observe(RefusedFact{From: m.From, Reason: fmt.Sprintf("join of node %d with directory %s", m.Join.Member.Node, m.Join.Member.Directory)})
	case m.Join != nil:
		n.join(*m.Join, m.Cluster)
	case m.Refusal != nil:
		n.opts.Observe(RefusedFact{From: m.From, Reason: m.Refusal.Reason})
	}
}

func (n *Node) stepRaft(m Message) {
	r := m.Raft
	if r.GetTo() != n.id || NodeOf(r.GetFrom()) != m.From || !fromPeers(r.GetType()) {
		return // for another directory of this node, or nothing that peers say
	}
	if n.cluster == "" && m.Cluster != "" { // who knows our directory id has us in its configuration
		n.cluster, n.learned = m.Cluster, true
	}
	before := n.raft.BasicStatus()
	if reason := n.bounds(before).judge(r); reason != "" {
		n.opts.Observe(RefusedFact{From: m.From, Reason: fmt.Sprintf("%s with %s", r.GetType(), reason)})
		return
	}
	_ = n.raft.Step(r) // an error means that raft had no use for it
	if r.GetType() == raftpb.MsgApp {
		n.certain = min(n.certain, r.GetIndex())
	}
	n.noticeContact(before, r)
	if n.role == raft.StateLeader {
		n.noticeAnswer(r)
	}
}

func (n *Node) bounds(s raft.BasicStatus) bounds {
	last, _ := n.log.LastIndex()
	return bounds{
		self: n.id, term: s.HardState.GetTerm(), leading: s.RaftState == raft.StateLeader,
		last: min(last, n.certain), maxEntry: n.opts.Limits.MaxEntryBytes,
	}
}

// fromPeers tells which raft messages may come from the network.
func fromPeers(t raftpb.MessageType) bool {
	switch t {
	case raftpb.MsgApp, raftpb.MsgAppResp, raftpb.MsgVote, raftpb.MsgVoteResp, raftpb.MsgPreVote, raftpb.MsgPreVoteResp,
		raftpb.MsgSnap, raftpb.MsgHeartbeat, raftpb.MsgHeartbeatResp, raftpb.MsgTimeoutNow:
		return true
	}
	return false
}

// PeerDown says that the connection to a node was closed from its side, as the death of its process does. epoch is that of the
// process's registration, NoBrokerEpoch when it is not known: see [Suspect].
func (n *Node) PeerDown(node kafka.NodeID, epoch kafka.BrokerEpoch, now kafka.Elapsed) {
	n.advance(now)
	if n.offline != nil || n.stalled != nil {
		return
	}
	if n.role == raft.StateLeader {
		n.peerDownLeading(node, epoch)
		return
	}
	n.down = slices.DeleteFunc(n.down, func(d downPeer) bool { return d.node == node })
	n.down = append(n.down, downPeer{node, epoch, now})
	if n.leader != raft.None && NodeOf(n.leader) == node {
		n.suspectLeader()
	}
}

// Err is why the node takes no part any more; nil while it does.
func (n *Node) Err() error { return n.offline }

// ClusterID is the cluster's id, "" while an outsider does not know it.
func (n *Node) ClusterID() string { return n.cluster }

// Leader is the node that leads as far as we know, NoNode when nobody is known to.
func (n *Node) Leader() kafka.NodeID { return NodeOf(n.leader) }

// Leading tells whether this node decides.
func (n *Node) Leading() bool { return n.lead.deciding }

// Stalled tells whether the log takes nothing for now.
func (n *Node) Stalled() bool { return n.stalled != nil }

// Close stops the node. Submits that wait are refused. What it promised is on disk.
func (n *Node) Close() error {
	if n.Err() == nil { // else it is closed, or the disk failed, which was told
		n.stop(ErrStopped)
		return n.log.Close()
	}
	return nil
}

// goOffline ends the part that this node takes, after its disk failed.
func (n *Node) goOffline(err error) {
	n.stop(err)
	n.opts.Observe(OfflineFact{Err: err})
}

func (n *Node) stop(why error) {
	n.offline = why
	n.stopDeciding()
	n.lead.failAll(ErrStopped)
	n.role, n.leader = raft.StateFollower, raft.None
}

// send wraps a raft message in its envelope.
func (n *Node) send(m *raftpb.Message) {
	to := NodeOf(m.GetTo())
	if m.GetType() == raftpb.MsgSnap {
		h := n.heardOf(m.GetTo())
		h.snapshotSent = n.now
		n.heard[m.GetTo()] = h
	}
	n.opts.Send(to, n.envelope(to, Message{Raft: m}))
}

func (n *Node) envelope(to kafka.NodeID, m Message) Message {
	m.Cluster, m.From, m.To, m.FromDirectory = n.cluster, n.opts.Self.Node, to, n.opts.Self.Directory
	return m
}
