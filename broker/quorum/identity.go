package quorum

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// RaftID derives the raft id of a member: node id plus one in the upper 32 bits, a digest of the directory id in the lower 32.
// Two directories of one node id collide once in 2^32; the leader notices it, since members are kept with their full ids, and
// refuses the newcomer.
func RaftID(v Voter) uint64 {
	h := fnv.New32a()
	h.Write(v.Directory[:])
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(v.Node))
	h.Write(b[:])
	return uint64(uint32(v.Node)+1)<<32 | uint64(h.Sum32())
}

// NodeOf is the node id inside a raft id, NoNode for 0.
func NodeOf(raftID uint64) kafka.NodeID { return kafka.NodeID(int64(raftID>>32) - 1) }
