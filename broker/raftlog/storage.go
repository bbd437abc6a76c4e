package raftlog

import (
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

var _ raft.Storage = (*Log)(nil)

// InitialState is what raft starts from: the conf state is that of the latest snapshot, so raft must apply from there on.
func (l *Log) InitialState() (*raftpb.HardState, *raftpb.ConfState, error) {
	cs := l.confState
	if cs == nil {
		cs = &raftpb.ConfState{}
	}
	return l.hard.proto(), cs, nil
}

// Entries implements [raft.Storage].
func (l *Log) Entries(lo, hi, maxSize uint64) ([]*raftpb.Entry, error) {
	if lo <= l.compacted.index {
		return nil, raft.ErrCompacted
	}
	if hi > l.lastIndex()+1 {
		return nil, raft.ErrUnavailable
	}
	from := lo - l.compacted.index - 1
	out := l.entries[from : hi-l.compacted.index-1]
	size := uint64(0)
	for i, e := range out {
		size += uint64(len(e.GetData())) + frameBytes
		if i > 0 && size > maxSize {
			out = out[:i]
			break
		}
	}
	return out[:len(out):len(out)], nil
}

// Term implements [raft.Storage].
func (l *Log) Term(i uint64) (uint64, error) {
	switch {
	case i < l.compacted.index:
		return 0, raft.ErrCompacted
	case i == l.compacted.index:
		return l.compacted.term, nil
	case i > l.lastIndex():
		return 0, raft.ErrUnavailable
	}
	return l.entries[i-l.compacted.index-1].GetTerm(), nil
}

// LastIndex implements [raft.Storage].
func (l *Log) LastIndex() (uint64, error) { return l.lastIndex(), nil }

func (l *Log) lastIndex() uint64 { return l.compacted.index + uint64(len(l.entries)) }

// FirstIndex implements [raft.Storage].
func (l *Log) FirstIndex() (uint64, error) { return l.compacted.index + 1, nil }

// Snapshot reads the latest snapshot from its file. One that cannot be read takes the log offline.
func (l *Log) Snapshot() (*raftpb.Snapshot, error) {
	if l.failed != nil {
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	if l.snap.index == 0 {
		return &raftpb.Snapshot{}, nil
	}
	cs, data, err := readSnapshot(l.fs, l.dir, l.snap)
	if err != nil {
		_ = l.fail("read snapshot", err) // sticky: the next Save tells
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	m := l.snap
	return &raftpb.Snapshot{Data: data, Metadata: &raftpb.SnapshotMetadata{ConfState: cs, Index: &m.index, Term: &m.term}}, nil
}

// LoadSnapshot gives the index and data of the latest snapshot, index 0 when there is none; for starting.
func (l *Log) LoadSnapshot() (index uint64, data []byte, err error) {
	if l.snap.index == 0 {
		return 0, nil, nil
	}
	_, data, err = readSnapshot(l.fs, l.dir, l.snap)
	if err != nil {
		return 0, nil, fmt.Errorf("load snapshot: %w", err)
	}
	return l.snap.index, data, nil
}

// Identity is whose log it is.
func (l *Log) Identity() Identity { return l.id }

// Err is why the log is offline, nil when it is not.
func (l *Log) Err() error { return l.failed }

// Virgin tells that nothing was ever voted, appended or received: the only state in which a quorum may be bootstrapped.
func (l *Log) Virgin() bool {
	return l.hard == hardState{} && l.lastIndex() == 0 && l.snap.index == 0
}

// Sizes are facts for the decision when to take a snapshot, and for metrics.
type Sizes struct {
	SnapshotIndex        uint64
	SnapshotBytes        int64
	BytesSinceSnapshot   int64
	EntriesSinceSnapshot int
	Files                int
}

// Sizes tells how much there is.
func (l *Log) Sizes() Sizes {
	return Sizes{l.snap.index, l.snapSize, l.bytesSinceSnapshot, l.entriesSinceSnapshot, len(l.older) + 1}
}
