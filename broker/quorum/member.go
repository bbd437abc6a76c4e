package quorum

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// member is a voter or learner. Its record travels in the configuration change that adds it, and in snapshots.
type member struct {
	id uint64
	Voter
	since uint64 // index of the change that added it: of two directories of one node the later one counts
}

// memberTable is sorted by raft id, hence by node id. It is part of the applied state: equal on all nodes at equal indexes.
type memberTable []member

func (t memberTable) find(id uint64) (int, bool) {
	return slices.BinarySearchFunc(t, id, func(m member, id uint64) int {
		switch {
		case m.id < id:
			return -1
		case m.id > id:
			return 1
		}
		return 0
	})
}

func (t memberTable) with(m member) memberTable {
	i, found := t.find(m.id)
	if found {
		return t
	}
	return slices.Insert(slices.Clone(t), i, m)
}

func (t memberTable) without(id uint64) memberTable {
	i, found := t.find(id)
	if !found {
		return t
	}
	return slices.Delete(slices.Clone(t), i, i+1)
}

// latest is the newest directory of a node id.
func (t memberTable) latest(node kafka.NodeID) (member, bool) {
	var best member
	for _, m := range t {
		if m.Node == node && (best.id == 0 || m.since > best.since) {
			best = m
		}
	}
	return best, best.id != 0
}

const stateVersion = 1

// encodeState is what a raft snapshot holds: the member table, then the machine's snapshot.
//
//	version u8 · number of members · per member: node, directory [16], since · machine's bytes
//
// Numbers are uvarints.
func encodeState(t memberTable, machine []byte) []byte {
	b := make([]byte, 0, len(machine)+len(t)*24+8)
	b = append(b, stateVersion)
	b = binary.AppendUvarint(b, uint64(len(t)))
	for _, m := range t {
		b = appendMember(b, m.Voter)
		b = binary.AppendUvarint(b, m.since)
	}
	return append(b, machine...)
}

func appendMember(b []byte, v Voter) []byte {
	b = binary.AppendUvarint(b, uint64(uint32(v.Node)))
	return append(b, v.Directory[:]...)
}

var errCutShort = errors.New("cut short")

func parseMember(b []byte) (Voter, []byte, error) {
	node, n := binary.Uvarint(b)
	if n <= 0 || node > 1<<31-1 || len(b) < n+16 {
		return Voter{}, nil, fmt.Errorf("decode member: %w", errCutShort)
	}
	v := Voter{Node: kafka.NodeID(node)}
	copy(v.Directory[:], b[n:])
	return v, b[n+16:], nil
}

func decodeState(b []byte) (memberTable, []byte, error) {
	if len(b) == 0 || b[0] != stateVersion {
		return nil, nil, fmt.Errorf("decode quorum snapshot: not of version %d", stateVersion)
	}
	count, n := binary.Uvarint(b[1:])
	if n <= 0 || count > uint64(len(b)) {
		return nil, nil, fmt.Errorf("decode quorum snapshot: %w", errCutShort)
	}
	b = b[1+n:]
	var t memberTable
	for range count {
		v, rest, err := parseMember(b)
		if err != nil {
			return nil, nil, fmt.Errorf("decode quorum snapshot: %w", err)
		}
		since, n := binary.Uvarint(rest)
		if n <= 0 {
			return nil, nil, fmt.Errorf("decode quorum snapshot: %w", errCutShort)
		}
		b = rest[n:]
		t = t.with(member{id: RaftID(v), Voter: v, since: since})
	}
	return t, b, nil
}
