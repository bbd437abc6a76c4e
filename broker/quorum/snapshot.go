package quorum

import (
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/fairlead-io/fairlead/broker/raftlog"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// storage is the log as raft sees it. A node ignores a snapshot whose configuration does not have it, so the latest one is
// of no use to a member that came after it: raft is told to ask again, and a new one is taken.
type storage struct {
	*raftlog.Log
	n *Node
}

// Snapshot implements [raft.Storage].
func (s storage) Snapshot() (*raftpb.Snapshot, error) {
	snap, err := s.Log.Snapshot()
	if err != nil {
		return nil, err
	}
	cs := snap.GetMetadata().GetConfState()
	for _, m := range s.n.members {
		if !slices.Contains(cs.GetVoters(), m.id) && !slices.Contains(cs.GetLearners(), m.id) &&
			!slices.Contains(cs.GetVotersOutgoing(), m.id) && !slices.Contains(cs.GetLearnersNext(), m.id) {
			s.n.wantSnapshot = true
			return nil, raft.ErrSnapshotTemporarilyUnavailable
		}
	}
	return snap, nil
}

// restoreSnapshot replaces members and machine state. An empty machine part is the machine's initial state: that of a bootstrap.
func (n *Node) restoreSnapshot(index uint64, data []byte) error {
	members, machine, err := decodeState(data)
	if err != nil {
		return err
	}
	if len(machine) > 0 {
		if err := n.opts.Machine.Restore(index, machine); err != nil {
			return fmt.Errorf("restore the state of index %d: %w", index, err)
		}
	}
	n.members, n.applied = members, index
	return nil
}

// takeSnapshot shortens the log when enough came since the last snapshot. A full disk, or a lack of handles, only puts it off.
func (n *Node) takeSnapshot() {
	s := n.log.Sizes()
	long := s.BytesSinceSnapshot >= max(n.opts.Limits.SnapshotBytes, s.SnapshotBytes) || s.EntriesSinceSnapshot >= n.opts.Limits.SnapshotEntries
	if n.wantSnapshot && n.applied > s.SnapshotIndex {
		long = true
	}
	if !long || n.stalled != nil || n.applied == s.SnapshotIndex {
		return
	}
	// Half of what is there must be applied: else the next call would do the same again.
	if !n.wantSnapshot && n.applied-s.SnapshotIndex < uint64(s.EntriesSinceSnapshot)/2 {
		return
	}
	data := encodeState(n.members, n.opts.Machine.Snapshot())
	err := n.log.SaveSnapshot(n.applied, n.conf, data)
	switch {
	case err == nil:
		n.wantSnapshot = false
		n.opts.Observe(SnapshotFact{Index: n.applied, Bytes: len(data)})
	case n.log.Err() == nil && vfs.Heals(err):
	default:
		n.goOffline(fmt.Errorf("take quorum snapshot: %w", err))
	}
}
