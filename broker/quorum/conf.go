package quorum

import (
	"fmt"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

func (n *Node) isVoter(id uint64) bool {
	return slices.Contains(n.conf.GetVoters(), id) || slices.Contains(n.conf.GetVotersOutgoing(), id)
}

// HasVote tells whether a directory of a node id votes; for the machine.
func (n *Node) HasVote(node kafka.NodeID) bool {
	return slices.ContainsFunc(n.members, func(m member) bool { return m.Node == node && n.isVoter(m.id) })
}

func (n *Node) isMember(id uint64) bool {
	return n.isVoter(id) || slices.Contains(n.conf.GetLearners(), id) || slices.Contains(n.conf.GetLearnersNext(), id)
}

// shouldJoin tells whether we ask to be taken in: as an outsider, and as a member that no leader has spoken to for long, since
// it may have been removed without having heard of it.
func (n *Node) shouldJoin() bool {
	return n.role != raft.StateLeader && n.leader == raft.None && (!n.isMember(n.id) || n.now >= n.timer.lease.Add(2*n.opts.Timing.Election))
}

func (n *Node) askToJoin() {
	if n.now < n.joinAt || !n.shouldJoin() {
		return
	}
	n.joinAt = n.now.Add(n.opts.Timing.JoinRetry/2 + n.jitter(n.opts.Timing.JoinRetry))
	ask := slices.Clone(n.opts.Peers)
	for _, m := range n.members {
		ask = append(ask, m.Node)
	}
	slices.Sort(ask)
	for _, to := range slices.Compact(ask) {
		if to != n.opts.Self.Node {
			n.opts.Send(to, n.envelope(to, Message{Join: &Join{Member: n.opts.Self}}))
		}
	}
}

// join takes in an outsider that asked, or passes its question on to the leader.
func (n *Node) join(j Join, cluster string) {
	if n.role != raft.StateLeader {
		to := n.Leader()
		if to != kafka.NoNode && j.Hops < maxJoinHops && to != j.Member.Node {
			j.Hops++
			m := n.envelope(to, Message{Join: &j})
			m.Cluster = cluster
			n.opts.Send(to, m)
		}
		return
	}
	if !n.lead.deciding {
		return // it asks again
	}
	id := RaftID(j.Member)
	if i, found := n.members.find(id); found {
		if n.members[i].Voter != j.Member {
			n.refuse(j.Member, fmt.Sprintf("directory id %s of node %d cannot be told from %s", j.Member.Directory, j.Member.Node, n.members[i].Directory))
		}
		return
	}
	if old, ok := n.members.latest(j.Member.Node); ok && n.alive(old.id) {
		n.refuse(j.Member, fmt.Sprintf("node id %d is in use by directory %s", old.Node, old.Directory))
		return
	}
	n.proposeConf([]confStep{{raftpb.ConfChangeAddLearnerNode, id}}, appendMember(nil, j.Member))
}

func (n *Node) refuse(who Voter, reason string) {
	n.opts.Observe(RefusedFact{From: who.Node, Reason: reason})
	n.opts.Send(who.Node, n.envelope(who.Node, Message{Refusal: &Refusal{Reason: reason}}))
}

// alive tells whether a member answered lately; for a new leader everybody did at its election.
func (n *Node) alive(id uint64) bool {
	if id == n.id {
		return true
	}
	return n.now < max(n.heardOf(id).last, n.lead.since).Add(2*n.opts.Timing.Election)
}

// confStep is one step of a configuration change.
type confStep struct {
	kind raftpb.ConfChangeType
	id   uint64
}

// proposeConf proposes a change of the configuration. Raft makes nothing of it while another one is under way; whoever wants it
// asks again.
func (n *Node) proposeConf(steps []confStep, context []byte) {
	if n.raft.BasicStatus().RaftState != raft.StateLeader || len(n.conf.GetVotersOutgoing()) > 0 {
		return
	}
	cc := &raftpb.ConfChangeV2{Context: context}
	for _, s := range steps {
		cc.Changes = append(cc.Changes, &raftpb.ConfChangeSingle{Type: s.kind.Enum(), NodeId: &s.id})
	}
	_ = n.raft.ProposeConfChange(cc)
}

// applyConfChange applies a committed change: raft's configuration and the member table together.
func (n *Node) applyConfChange(e *raftpb.Entry) error {
	cc := new(raftpb.ConfChangeV2)
	if e.GetType() != raftpb.EntryConfChangeV2 {
		return fmt.Errorf("configuration change of type %v", e.GetType())
	}
	if err := proto.Unmarshal(e.GetData(), cc); err != nil {
		return fmt.Errorf("decode configuration change: %w", err)
	}
	if err := judgeConfChange(n.conf, cc); err != nil {
		return fmt.Errorf("change the configuration: %w", err)
	}
	if len(cc.GetContext()) > 0 {
		v, _, err := parseMember(cc.GetContext())
		if err != nil {
			return err
		}
		n.members = n.members.with(member{id: RaftID(v), Voter: v, since: e.GetIndex()})
	}
	n.conf = n.raft.ApplyConfChange(cc)
	for _, m := range n.members {
		if !n.isMember(m.id) {
			n.members = n.members.without(m.id)
		}
	}
	fact := MembersFact{}
	for _, m := range n.members {
		if n.isVoter(m.id) {
			fact.Voters = append(fact.Voters, m.Voter)
		} else {
			fact.Learners = append(fact.Learners, m.Voter)
		}
	}
	n.opts.Observe(fact)
	return nil
}

// caughtUpEntries is how far a learner may be behind when it takes over the vote of the directory that it replaces.
const caughtUpEntries = 64

// reconcileMembers removes directories that a newer one of the same node id replaces. The vote of an old one goes to the new one, in one joint change,
// when that has the log; so the number of voters that can vote never shrinks below what the loss of the disk left.
func (n *Node) reconcileMembers() {
	for _, old := range n.members {
		latest, _ := n.members.latest(old.Node)
		if latest.id == old.id {
			continue
		}
		switch {
		case !n.isVoter(old.id):
			n.proposeConf([]confStep{{raftpb.ConfChangeRemoveNode, old.id}}, nil)
		case n.isVoter(latest.id):
			n.proposeConf([]confStep{{raftpb.ConfChangeRemoveNode, old.id}}, nil)
		case n.alive(latest.id) && n.heardOf(latest.id).match+caughtUpEntries >= n.lead.last:
			n.proposeConf([]confStep{{raftpb.ConfChangeRemoveNode, old.id}, {raftpb.ConfChangeAddNode, latest.id}}, nil)
		}
		return // one at a time
	}
}

// snapshotBytesPerSecond is the slowest transfer that is not taken for lost.
const snapshotBytesPerSecond = 4 << 20

// retrySnapshots tells raft that snapshots were lost that did not take effect for too long: the transport is one-way. What counts is
// raft's view of the member; a late answer to something older says nothing about the snapshot.
func (n *Node) retrySnapshots() {
	wait := n.opts.Timing.SnapshotRetry + time.Duration(n.log.Sizes().SnapshotBytes)*time.Second/snapshotBytesPerSecond
	var lost []uint64
	n.raft.WithProgress(func(id uint64, _ raft.ProgressType, pr tracker.Progress) {
		h, ok := n.heard[id]
		switch {
		case pr.State != tracker.StateSnapshot:
			if ok {
				h.snapshotSent = never
				n.heard[id] = h
			}
		case !ok || h.snapshotSent == never || n.now >= h.snapshotSent.Add(wait):
			lost = append(lost, id)
		}
	})
	for _, id := range lost {
		n.raft.ReportSnapshot(id, raft.SnapshotFailure)
	}
}
