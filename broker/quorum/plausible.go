package quorum

import (
	"fmt"

	"go.etcd.io/raft/v3/confchange"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"
)

// What follows refuses raft messages that no member says. Raft takes whatever its peers send for true, and panics where that cannot
// be; a stranger's bytes must not end the process. It is no proof of who sent a message: that is the transport's business.

// maxPlausible is above every term and index that a quorum ever reaches, and far enough from the end of the numbers to count on from.
const maxPlausible = 1 << 62

// bounds are what a member knows when it judges a message.
type bounds struct {
	self     uint64
	term     uint64
	leading  bool
	last     uint64 // no more than the last index of the log
	maxEntry int    // bytes of one entry
}

// judge says what is wrong with a message of a peer; "" when nothing is.
func (b bounds) judge(m *raftpb.Message) string {
	switch from, term := m.GetFrom(), m.GetTerm(); {
	case from == b.self:
		return "from this member itself"
	case NodeOf(from) < 0:
		return fmt.Sprintf("from raft id %x", from)
	case term == 0 || term >= maxPlausible:
		return fmt.Sprintf("term %d", term)
	case term < b.term:
		return "" // raft does no more than tell the sender the present term
	}
	switch m.GetType() {
	case raftpb.MsgHeartbeat:
		if m.GetCommit() > b.last {
			return fmt.Sprintf("commit of index %d, this log ends at %d", m.GetCommit(), b.last)
		}
	case raftpb.MsgAppResp:
		if b.leading && m.GetTerm() == b.term && !m.GetReject() && m.GetIndex() > b.last {
			return fmt.Sprintf("acknowledgement of index %d, this log ends at %d", m.GetIndex(), b.last)
		}
	case raftpb.MsgApp:
		return b.judgeEntries(m)
	case raftpb.MsgSnap:
		return judgeSnapshot(m.GetSnapshot())
	}
	return ""
}

// judgeEntries: entries follow the index that the message names, one by one, with terms that never fall.
func (b bounds) judgeEntries(m *raftpb.Message) string {
	index, term := m.GetIndex(), m.GetLogTerm()
	if index >= maxPlausible || term > m.GetTerm() {
		return fmt.Sprintf("entries after index %d of term %d", index, term)
	}
	for _, e := range m.GetEntries() {
		index++
		switch {
		case e.GetIndex() != index || e.GetTerm() < term || e.GetTerm() == 0 || e.GetTerm() > m.GetTerm():
			return fmt.Sprintf("entry %d of term %d in the place of entry %d after term %d", e.GetIndex(), e.GetTerm(), index, term)
		case len(e.GetData()) > b.maxEntry:
			return fmt.Sprintf("entry %d of %d bytes", index, len(e.GetData()))
		case e.GetType() == raftpb.EntryNormal:
		case e.GetType() != raftpb.EntryConfChangeV2 || proto.Unmarshal(e.GetData(), new(raftpb.ConfChangeV2)) != nil:
			return fmt.Sprintf("entry %d is no configuration change", index)
		}
		term = e.GetTerm()
	}
	return ""
}

// judgeSnapshot: it can be read, and its configuration is one.
func judgeSnapshot(s *raftpb.Snapshot) string {
	md := s.GetMetadata()
	if md.GetIndex() == 0 || md.GetIndex() >= maxPlausible || md.GetTerm() == 0 || md.GetTerm() >= maxPlausible {
		return fmt.Sprintf("snapshot of index %d, term %d", md.GetIndex(), md.GetTerm())
	}
	if _, _, err := decodeState(s.GetData()); err != nil {
		return err.Error()
	}
	if len(md.GetConfState().GetVoters()) == 0 {
		return "snapshot without voters"
	}
	t, err := trackerOf(md.GetConfState())
	if err == nil {
		err = md.GetConfState().Equivalent(t.ConfState())
	}
	if err != nil {
		return fmt.Sprintf("configuration of a snapshot: %v", err)
	}
	return ""
}

// trackerOf is a tracker with nothing but a configuration.
func trackerOf(cs *raftpb.ConfState) (tracker.ProgressTracker, error) {
	t := tracker.MakeProgressTracker(1, 0)
	config, progress, err := confchange.Restore(confchange.Changer{Tracker: t}, cs)
	t.Config, t.Progress = config, progress
	return t, err
}

// judgeConfChange says why a committed change cannot be made of a configuration, which raft answers with a panic.
func judgeConfChange(cs *raftpb.ConfState, cc *raftpb.ConfChangeV2) error {
	t, err := trackerOf(cs)
	if err != nil {
		return err
	}
	changer := confchange.Changer{Tracker: t}
	if cc.LeaveJoint() {
		_, _, err = changer.LeaveJoint()
	} else if autoLeave, joint := cc.EnterJoint(); joint {
		_, _, err = changer.EnterJoint(autoLeave, cc.GetChanges()...)
	} else {
		_, _, err = changer.Simple(cc.GetChanges()...)
	}
	return err
}
