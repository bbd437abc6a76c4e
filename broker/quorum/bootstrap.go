package quorum

import (
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/fairlead-io/fairlead/broker/raftlog"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Founding is the explicit act that begins a quorum.
type Founding struct {
	ClusterID string  // of the new cluster, never used before
	Voters    []Voter // 1, 3 or 5, with different node ids
	// State is the machine's snapshot to begin with; empty: its initial state. The same on every voter.
	State []byte
}

// MaxVoters bounds the voters of a founding.
const MaxVoters = 7

// ErrBootstrapped refuses a bootstrap in a folder that has, or had, a part in a quorum.
var ErrBootstrapped = errors.New("already part of a quorum")

// Bootstrap writes the initial state of a new quorum into the folder of self, which must be closed and must never have voted or received
// anything. The same founding is written on every voter; a voter whose folder is still empty gets it from the others.
func Bootstrap(fsys vfs.FS, dir string, self Voter, f Founding) error {
	if err := f.check(self); err != nil {
		return fmt.Errorf("bootstrap quorum: %w", err)
	}
	log, err := raftlog.Open(fsys, dir, raftlog.Options{Identity: raftlog.Identity{Node: self.Node, Directory: self.Directory}})
	if err != nil {
		return fmt.Errorf("bootstrap quorum: %w", err)
	}
	defer log.Close()
	if !log.Virgin() {
		return fmt.Errorf("bootstrap quorum in %s: %w (cluster %s)", dir, ErrBootstrapped, log.Identity().ClusterID)
	}
	if id := log.Identity().ClusterID; id != "" && id != f.ClusterID {
		return fmt.Errorf("bootstrap quorum in %s: %w (cluster %s)", dir, ErrBootstrapped, id)
	}
	const first = 1 // index and term; what comes later is above, so a member without it needs a snapshot
	index, term, commit := uint64(first), uint64(first), uint64(first)
	var members memberTable
	cs := &raftpb.ConfState{AutoLeave: new(bool)}
	for _, v := range f.Voters {
		members = members.with(member{id: RaftID(v), Voter: v, since: first})
	}
	for _, m := range members {
		cs.Voters = append(cs.Voters, m.id)
	}
	err = log.Save(raftlog.Update{
		ClusterID: f.ClusterID,
		Snapshot: &raftpb.Snapshot{
			Data:     encodeState(members, f.State),
			Metadata: &raftpb.SnapshotMetadata{ConfState: cs, Index: &index, Term: &term},
		},
		HardState: &raftpb.HardState{Term: &term, Commit: &commit},
		Sync:      true,
	})
	if err != nil {
		return fmt.Errorf("bootstrap quorum: %w", err)
	}
	return nil
}

func (f Founding) check(self Voter) error {
	switch {
	case f.ClusterID == "" || len(f.ClusterID) > maxClusterIDBytes:
		return fmt.Errorf("cluster id %q", f.ClusterID)
	case len(f.Voters) == 0 || len(f.Voters) > MaxVoters:
		return fmt.Errorf("%d voters, want 1 to %d", len(f.Voters), MaxVoters)
	case !slices.Contains(f.Voters, self):
		return fmt.Errorf("node %d with directory %s is no voter", self.Node, self.Directory)
	}
	for i, v := range f.Voters {
		if !v.possible() {
			return fmt.Errorf("voter %d of directory %s", v.Node, v.Directory)
		}
		for _, w := range f.Voters[:i] {
			if v.Node == w.Node {
				return fmt.Errorf("node %d votes twice", v.Node)
			}
		}
	}
	return nil
}
