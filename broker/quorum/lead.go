package quorum

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// leadership is what a leader keeps and loses with its term.
type leadership struct {
	deciding bool
	from     uint64        // index that must be applied before it decides: its first entry, or after a dropped proposal its last; 0 unknown yet
	last     uint64        // index of the last entry that it appended
	since    kafka.Elapsed // when it began
	nextTick kafka.Elapsed

	queue   []submit  // not decided yet
	waiting []waiting // decided, in order
}

type submit struct {
	cmd  any
	done func(reply any, err error)
}

// waiting is a decided command. It is answered when everything before it was and, if it appended an entry, that was applied.
type waiting struct {
	done      func(reply any, err error)
	reply     any
	appended  bool
	index     uint64 // of its entry; 0 until raft gave it one
	entryTerm uint64
}

// Submit asks for the decision of cmd. done is called once, from here when it is refused at once, else from Process.
func (n *Node) Submit(cmd any, now kafka.Elapsed, done func(reply any, err error)) {
	n.advance(now)
	switch {
	case n.offline != nil:
		done(nil, ErrStopped)
	case n.role != raft.StateLeader || n.stalled != nil:
		done(nil, &NotLeaderError{Leader: n.otherLeader()})
	case len(n.lead.queue)+len(n.lead.waiting) >= n.opts.Limits.MaxPending:
		done(nil, ErrBusy)
	default:
		n.lead.queue = append(n.lead.queue, submit{cmd, done})
	}
}

// otherLeader never names this node to somebody whom it refuses.
func (n *Node) otherLeader() kafka.NodeID {
	if n.leader == n.id {
		return kafka.NoNode
	}
	return n.Leader()
}

// decide turns what is queued into proposals.
func (n *Node) decide() {
	if n.stalled != nil || !n.lead.deciding || len(n.lead.queue) == 0 {
		return
	}
	// Raft may know already of a newer term, or be handing over: it would drop proposals.
	st := n.raft.BasicStatus()
	if st.RaftState != raft.StateLeader || st.HardState.GetTerm() != n.term || st.LeadTransferee != raft.None {
		return
	}
	for n.lead.deciding && len(n.lead.queue) > 0 {
		s := n.lead.queue[0]
		n.lead.queue = n.lead.queue[1:]
		data, reply := n.opts.Machine.Decide(s.cmd, n.now)
		n.propose(data, waiting{done: s.done, reply: reply})
	}
	if len(n.lead.queue) == 0 {
		n.lead.queue = nil
	}
}

// propose appends a decision. When raft takes it not, the machine's speculative state has something that the log has not: it begins again
// from the applied state.
func (n *Node) propose(data []byte, w waiting) {
	if len(data) > 0 {
		if len(data) > n.opts.Limits.MaxEntryBytes {
			n.beginAgain(w, ErrTooLarge)
			return
		}
		if err := n.raft.Propose(data); err != nil {
			n.beginAgain(w, &NotLeaderError{Leader: n.otherLeader()})
			return
		}
		w.appended = true
	}
	if !w.appended && len(n.lead.waiting) == 0 {
		w.answer(w.reply, nil)
		return
	}
	n.lead.waiting = append(n.lead.waiting, w)
}

// beginAgain drops the speculative state. Decisions go on once everything appended so far is applied.
func (n *Node) beginAgain(w waiting, err error) {
	w.answer(nil, err)
	n.stopDeciding()
	// Entries of waiting commands that raft has not numbered yet come after last.
	unnumbered := uint64(0)
	for _, w := range n.lead.waiting {
		if w.appended && w.index == 0 {
			unnumbered++
		}
	}
	n.lead.from = n.lead.last + unnumbered // afterApply, or the next tick, begins again
}

func (w waiting) answer(reply any, err error) {
	if w.done != nil {
		w.done(reply, err)
	}
}

// startLeading begins a leadership: raft appended the first entry of the term; noticeEntries will see it.
func (n *Node) startLeading() {
	n.lead.from, n.lead.last, n.lead.deciding = 0, 0, false
	n.lead.since, n.lead.nextTick = n.now, n.now.Add(n.opts.Timing.Tick)
	clear(n.heard)
}

// stopDeciding ends decisions; commands that wait are answered or refused by what is applied next.
func (n *Node) stopDeciding() {
	if !n.lead.deciding {
		return
	}
	n.lead.deciding = false
	n.opts.Machine.LoseLeadership()
	n.opts.Observe(LeadingFact{Leading: false, Epoch: n.term})
}

// noticeEntries learns the indexes that raft gave to our proposals: entries come in the order in which they were proposed.
func (l *leadership) noticeEntries(entries []*raftpb.Entry, term uint64) {
	next := 0
	for next < len(l.waiting) && (!l.waiting[next].appended || l.waiting[next].index != 0) {
		next++
	}
	for _, e := range entries {
		if e.GetTerm() != term {
			continue
		}
		if l.from == 0 {
			l.from = e.GetIndex()
		}
		l.last = e.GetIndex()
		if e.GetType() != raftpb.EntryNormal || len(e.GetData()) == 0 {
			continue
		}
		for next < len(l.waiting) && !l.waiting[next].appended {
			next++
		}
		if next < len(l.waiting) {
			l.waiting[next].index, l.waiting[next].entryTerm = e.GetIndex(), e.GetTerm()
			next++
		}
	}
}

// answer replies to the commands whose entries are applied up to and with e.
func (l *leadership) answer(e *raftpb.Entry) {
	for len(l.waiting) > 0 {
		w := l.waiting[0]
		if w.appended && (w.index != e.GetIndex() || w.entryTerm != e.GetTerm()) {
			return
		}
		l.waiting = l.waiting[1:]
		w.answer(w.reply, nil)
		if w.appended {
			for len(l.waiting) > 0 && !l.waiting[0].appended {
				next := l.waiting[0]
				l.waiting = l.waiting[1:]
				next.answer(next.reply, nil)
			}
			return
		}
	}
}

// failAll refuses everything that waits.
func (l *leadership) failAll(err error) {
	queue, waits := l.queue, l.waiting
	l.queue, l.waiting = nil, nil
	for _, w := range waits {
		w.answer(nil, err)
	}
	for _, s := range queue {
		if s.done != nil {
			s.done(nil, err)
		}
	}
}

// maxCatchUpTicks bounds the ticks after a pause of the process: enough for CheckQuorum to notice it.
const maxCatchUpTicks = 64

// tickLeader sends heartbeats, checks the quorum, lets the machine tick and looks after members.
//
// Raft may have stepped down already, in a tick before or on a message that Process has not seen yet. Then it is ticked no
// more: as a follower it would campaign by its own timer, see [electionTimer].
func (n *Node) tickLeader() {
	if n.now < n.lead.nextTick {
		return
	}
	for i := 0; n.now >= n.lead.nextTick && i < maxCatchUpTicks && n.raft.BasicStatus().RaftState == raft.StateLeader; i++ {
		n.raft.Tick()
		n.lead.nextTick = n.lead.nextTick.Add(n.opts.Timing.Tick)
	}
	n.lead.nextTick = max(n.lead.nextTick, n.now)
	n.afterApply()
	if st := n.raft.BasicStatus(); n.lead.deciding && st.RaftState == raft.StateLeader && st.LeadTransferee == raft.None {
		if data := n.opts.Machine.Tick(n.now); len(data) > 0 {
			n.propose(data, waiting{})
		}
		n.reconcileMembers()
	}
	n.retrySnapshots()
}

// Resign hands the leadership to the voter that is closest to us, for a controlled stop. It may fail silently.
func (n *Node) Resign(now kafka.Elapsed) {
	n.advance(now)
	if n.offline != nil || n.role != raft.StateLeader {
		return
	}
	best, bestMatch := raft.None, uint64(0)
	n.raft.WithProgress(func(id uint64, typ raft.ProgressType, pr tracker.Progress) {
		if id == n.id || typ != raft.ProgressTypePeer || !pr.RecentActive {
			return
		}
		if pr.Match > bestMatch || pr.Match == bestMatch && (best == raft.None || id < best) {
			best, bestMatch = id, pr.Match
		}
	})
	if best != raft.None {
		n.raft.TransferLeader(best)
	}
}

// handingOver tells whether this node leads and waits for the voter to whom it resigned; a sole voter has nobody to wait for.
func (n *Node) handingOver() bool {
	st := n.raft.BasicStatus()
	return st.RaftState == raft.StateLeader && st.LeadTransferee != raft.None
}

// appliedTerm is the term of the last entry applied here, 0 when it is not in the log any more.
func (n *Node) appliedTerm() uint64 {
	term, err := n.log.Term(n.applied)
	if err != nil {
		return 0
	}
	return term
}

// peerDownLeading tells raft and the machine that a process seems to have died.
func (n *Node) peerDownLeading(node kafka.NodeID, epoch kafka.BrokerEpoch) {
	for _, m := range n.members {
		if m.Node == node && m.id != n.id {
			n.raft.ReportUnreachable(m.id)
			n.raft.ReportSnapshot(m.id, raft.SnapshotFailure)
		}
	}
	n.suspect(node, epoch)
}

// suspect queues the command for the machine.
func (n *Node) suspect(node kafka.NodeID, epoch kafka.BrokerEpoch) {
	if len(n.lead.queue)+len(n.lead.waiting) < n.opts.Limits.MaxPending {
		n.lead.queue = append(n.lead.queue, submit{cmd: Suspect{Node: node, Epoch: epoch}})
	}
}

func (n *Node) heardOf(id uint64) heard {
	h, ok := n.heard[id]
	if !ok {
		h = heard{last: never, caughtUp: never, snapshotSent: never}
	}
	return h
}

// noticeAnswer keeps when members were heard of, for DescribeQuorum and for replacing dead ones.
func (n *Node) noticeAnswer(m *raftpb.Message) {
	if m.GetType() != raftpb.MsgAppResp && m.GetType() != raftpb.MsgHeartbeatResp || !n.isMember(m.GetFrom()) {
		return
	}
	h := n.heardOf(m.GetFrom())
	h.last = n.now
	if m.GetType() == raftpb.MsgAppResp && !m.GetReject() {
		h.match = max(h.match, m.GetIndex())
	}
	if h.match >= n.lead.last {
		h.caughtUp = n.now
	}
	n.heard[m.GetFrom()] = h
}
