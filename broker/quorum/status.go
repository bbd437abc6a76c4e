package quorum

import (
	"go.etcd.io/raft/v3"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Status is what DescribeQuorum, metrics and tests want to know.
type Status struct {
	Self          Voter
	ClusterID     string
	Leader        kafka.NodeID // NoNode when unknown
	Leading       bool         // this node leads and may decide
	Stalled       bool         // its log takes nothing, for lack of space or of file handles: nothing is applied meanwhile
	Epoch         uint64       // raft term
	HighWatermark uint64       // next index after the last committed one
	Applied       uint64       // last applied index
	LogEnd        uint64       // next index after the last one in our log
	Snapshot      uint64       // index of the latest snapshot
	Voters        []Replica    // in order of node id
	Observers     []Replica    // learners, in order of node id
}

// Replica is one member as the leader sees it; elsewhere only Voter and what is known of ourselves are set.
type Replica struct {
	Voter
	LogEnd       uint64        // next index after the last one known to be in its log, 0 when unknown
	LastFetch    kafka.Elapsed // when it was heard of last, -1 when never
	LastCaughtUp kafka.Elapsed // when it last had everything that the leader had, -1 when never
}

// Fact is something that the edge may log or count. Values of the types below.
type Fact any

// LeaderFact says that another leader, or none, is known.
type LeaderFact struct {
	Leader kafka.NodeID
	Epoch  uint64
}

// LeadingFact says that this node began or ceased to decide.
type LeadingFact struct {
	Leading bool
	Epoch   uint64
}

// MembersFact says that the configuration changed.
type MembersFact struct{ Voters, Learners []Voter }

// SnapshotFact says that a snapshot was taken or received.
type SnapshotFact struct {
	Index     uint64
	Bytes     int
	Installed bool // received from the leader
}

// OfflineFact says that the disk failed: this node takes no part any more.
type OfflineFact struct{ Err error }

// StalledFact says that the log takes nothing, and is tried again; or, with a nil Err, that it goes on.
type StalledFact struct{ Err error }

// RefusedFact says that the quorum did not take us in, or a message of a foreign cluster came.
type RefusedFact struct {
	From   kafka.NodeID
	Reason string
}

// Status describes the node and, on a leader, the whole quorum.
func (n *Node) Status() Status {
	last, _ := n.log.LastIndex()
	s := Status{
		Self: n.opts.Self, ClusterID: n.cluster, Leader: n.Leader(), Leading: n.lead.deciding, Stalled: n.stalled != nil, Epoch: n.term,
		HighWatermark: n.commit + 1, Applied: n.applied, LogEnd: last + 1, Snapshot: n.log.Sizes().SnapshotIndex,
	}
	for _, m := range n.members {
		r := Replica{Voter: m.Voter, LastFetch: never, LastCaughtUp: never}
		switch h := n.heardOf(m.id); {
		case m.id == n.id:
			r.LogEnd, r.LastFetch, r.LastCaughtUp = last+1, n.now, n.now
		case n.role == raft.StateLeader:
			r.LogEnd, r.LastFetch, r.LastCaughtUp = h.match+1, h.last, h.caughtUp
		}
		if n.isVoter(m.id) {
			s.Voters = append(s.Voters, r)
		} else {
			s.Observers = append(s.Observers, r)
		}
	}
	return s
}
