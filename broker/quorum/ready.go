package quorum

import (
	"fmt"
	"math"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/raftlog"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Process does all the work there is at now. It returns when there is none left. Replies and sends happen inside.
func (n *Node) Process(now kafka.Elapsed) {
	n.advance(now)
	for n.offline == nil {
		n.decide()
		rd := n.stalled
		if rd == nil {
			if !n.raft.HasReady() {
				break
			}
			r := n.raft.Ready()
			rd = &r
			n.noticeState(rd)
			n.sendEarly(rd)
		}
		if !n.persist(rd) {
			return
		}
		for _, m := range rd.Messages {
			if !early(m) {
				n.send(m)
			}
		}
		if err := n.applyReady(rd); err != nil {
			n.goOffline(err)
			return
		}
		n.raft.Advance(*rd)
		n.afterApply()
	}
	if n.offline == nil {
		n.certain = math.MaxUint64
		n.takeSnapshot()
	}
}

// early tells which messages do not depend on what the same Ready persists: those of a leader, whose term is durable since its election.
func early(m *raftpb.Message) bool {
	switch m.GetType() {
	case raftpb.MsgApp, raftpb.MsgHeartbeat, raftpb.MsgSnap, raftpb.MsgTimeoutNow:
		return true
	}
	return false
}

func (n *Node) sendEarly(rd *raft.Ready) {
	for _, m := range rd.Messages {
		if early(m) {
			n.send(m)
		}
	}
}

// persist makes the Ready durable. False: there is no space or no handle and it is tried again, or the node went offline.
func (n *Node) persist(rd *raft.Ready) bool {
	u := raftlog.Update{Entries: rd.Entries, Sync: rd.MustSync}
	if !raft.IsEmptyHardState(rd.HardState) {
		u.HardState = rd.HardState
	}
	if !raft.IsEmptySnap(rd.Snapshot) {
		u.Snapshot, u.Sync = rd.Snapshot, true
	}
	if n.learned {
		u.ClusterID, u.Sync = n.cluster, true
	}
	err := n.log.Save(u)
	switch {
	case err == nil:
		if n.stalled != nil {
			n.opts.Observe(StalledFact{})
		}
		n.stalled, n.learned = nil, false
		return true
	case n.log.Err() == nil && vfs.Heals(err):
		if n.stalled == nil {
			n.opts.Observe(StalledFact{Err: err})
		}
		n.stalled = rd
	default:
		n.goOffline(fmt.Errorf("persist quorum state: %w", err))
	}
	return false
}

// noticeState follows changes of role, leader and term.
func (n *Node) noticeState(rd *raft.Ready) {
	term := n.term
	if !raft.IsEmptyHardState(rd.HardState) {
		term, n.commit = rd.HardState.GetTerm(), rd.HardState.GetCommit()
	}
	role, leader := n.role, n.leader
	if rd.SoftState != nil {
		role, leader = rd.RaftState, rd.Lead
	}
	if n.role == raft.StateLeader && (role != raft.StateLeader || term != n.term) {
		n.stopDeciding()
	}
	if role == raft.StateLeader && (n.role != raft.StateLeader || term != n.term) {
		n.startLeading()
	} else if role != raft.StateLeader && n.role == raft.StateLeader {
		n.resetTimer()
	}
	changed := leader != n.leader || term != n.term && leader != raft.None
	n.role, n.leader, n.term = role, leader, term
	if changed {
		n.opts.Observe(LeaderFact{Leader: NodeOf(leader), Epoch: term})
	}
	if role == raft.StateLeader {
		n.lead.noticeEntries(rd.Entries, term)
	}
}

// applyReady applies what is committed. An error means that state and log do not fit: nothing can go on.
func (n *Node) applyReady(rd *raft.Ready) error {
	if !raft.IsEmptySnap(rd.Snapshot) {
		md := rd.Snapshot.GetMetadata()
		n.conf = md.GetConfState()
		if err := n.restoreSnapshot(md.GetIndex(), rd.Snapshot.GetData()); err != nil {
			return err
		}
		n.opts.Observe(SnapshotFact{Index: md.GetIndex(), Bytes: len(rd.Snapshot.GetData()), Installed: true})
	}
	for _, e := range rd.CommittedEntries {
		if err := n.applyEntry(e); err != nil {
			return fmt.Errorf("apply entry %d: %w", e.GetIndex(), err)
		}
		n.applied = e.GetIndex()
		n.lead.answer(e)
	}
	return nil
}

func (n *Node) applyEntry(e *raftpb.Entry) error {
	data := e.GetData()
	if e.GetType() != raftpb.EntryNormal {
		if err := n.applyConfChange(e); err != nil {
			return err
		}
		data = nil
	}
	return n.opts.Machine.Apply(e.GetIndex(), data)
}

// afterApply refuses what a lost leadership left waiting, and begins to decide once that is allowed.
func (n *Node) afterApply() {
	if n.role != raft.StateLeader {
		n.lead.failAll(&NotLeaderError{Leader: n.Leader()})
		return
	}
	if !n.lead.deciding && n.lead.from > 0 && n.applied >= n.lead.from {
		n.lead.deciding = true
		n.opts.Machine.BecomeLeader(n.now)
		n.opts.Observe(LeadingFact{Leading: true, Epoch: n.term})
		for _, d := range n.down {
			if n.now < d.at.Add(downMemory) {
				n.suspect(d.node, d.epoch)
			}
		}
		n.down = nil
	}
}
