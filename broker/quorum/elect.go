package quorum

import (
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// electionTimer is the timer of a node that does not lead. Raft's own is never ticked on such a node, since its jitter
// cannot be seeded; raft is told to forget the leader and to campaign when this timer says so.
//
// lease: until then we take the leader for alive, and refuse (pre-)votes to others, as CheckQuorum wants.
type electionTimer struct {
	lease    kafka.Elapsed
	campaign kafka.Elapsed
	attempts int // campaigns since the last leader; bounds the next wait
	// suspect is set from the closed connection until the campaign: what the dead leader sent before does not put the campaign off.
	suspect bool
}

func (t *electionTimer) deadline(n *Node) kafka.Elapsed {
	d := n.now.Add(n.opts.Timing.Election)
	if n.leader != raft.None {
		d = min(d, t.lease)
	}
	if n.isVoter(n.id) {
		d = min(d, t.campaign)
	}
	return d
}

// startTimer is for a node that just opened: it waits for a leader only for a short time, and a sole voter for nobody.
func (n *Node) startTimer() {
	n.resetTimer()
	start := n.opts.Timing.Start
	n.timer.campaign = min(n.timer.campaign, n.now.Add(start+n.jitter(4*start)))
	if n.isVoter(n.id) && len(n.conf.GetVoters()) == 1 && len(n.conf.GetVotersOutgoing()) == 0 {
		n.timer.campaign = n.now
	}
}

// resetTimer is for contact with a leader, and for a vote given.
func (n *Node) resetTimer() {
	e := n.opts.Timing.Election
	n.timer = electionTimer{lease: n.now.Add(e), campaign: n.now.Add(e + n.jitter(e))}
}

func (n *Node) jitter(below time.Duration) time.Duration {
	return time.Duration(n.opts.Jitter(int64(below)))
}

func (n *Node) tickFollower() {
	if n.leader != raft.None && n.now >= n.timer.lease {
		_ = n.raft.ForgetLeader()
	}
	if n.now < n.timer.campaign || !n.isVoter(n.id) {
		return
	}
	_ = n.raft.ForgetLeader()
	// The next attempt comes soon, since the usual reason is a split vote, and later each time.
	wait := min(n.opts.Timing.SuspectMax<<min(n.timer.attempts, 8), n.opts.Timing.Election)
	n.timer.attempts++
	n.timer.suspect = false
	n.timer.campaign = n.now.Add(wait + n.jitter(wait))
	_ = n.raft.Campaign()
}

// suspectLeader brings the campaign forward after the connection to the leader was closed. Should the leader live, its heartbeat
// or the others' leases end our pre-vote without harm.
func (n *Node) suspectLeader() {
	_ = n.raft.ForgetLeader()
	n.timer.suspect = true
	n.timer.campaign = min(n.timer.campaign, n.now.Add(n.jitter(n.opts.Timing.SuspectMax)))
}

// noticeContact resets the timer when m came from the leader of our term, or made us vote or follow a new term.
func (n *Node) noticeContact(before raft.BasicStatus, m *raftpb.Message) {
	after := n.raft.BasicStatus()
	fromLeader := after.Lead == m.GetFrom() &&
		(m.GetType() == raftpb.MsgApp || m.GetType() == raftpb.MsgHeartbeat || m.GetType() == raftpb.MsgSnap)
	voted := m.GetType() == raftpb.MsgVote && after.HardState.GetVote() == m.GetFrom() &&
		(before.HardState.GetVote() != m.GetFrom() || before.HardState.GetTerm() != after.HardState.GetTerm())
	switch {
	case fromLeader && n.timer.suspect && before.HardState.GetTerm() == after.HardState.GetTerm():
		n.timer.lease = n.now.Add(n.opts.Timing.Election)
	case fromLeader || voted:
		n.resetTimer()
	}
}
