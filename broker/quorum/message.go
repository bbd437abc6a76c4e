package quorum

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Message is the envelope of everything that members say to each other: one way, unordered, possibly lost or repeated. Exactly one of
// Raft, Join and Refusal is set. It is immutable once sent.
type Message struct {
	Cluster       string // "" only from an outsider that does not know its cluster yet
	From, To      kafka.NodeID
	FromDirectory kafka.DirectoryID
	Raft          *raftpb.Message
	Join          *Join
	Refusal       *Refusal
}

// Join asks the leader to take in Member. Who receives it and does not lead passes it on to the leader, at most maxJoinHops times.
type Join struct {
	Member Voter
	Hops   uint8
	// Address is where the transport reaches Member, who is not registered yet. It is the transports' own: they put it in and
	// take it out.
	Address string
}

const maxJoinHops = 2

// Refusal tells an outsider why it is not taken in.
type Refusal struct{ Reason string }

const (
	envelopeVersion = 1
	kindRaft        = 1
	kindJoin        = 2
	kindRefusal     = 3

	maxClusterIDBytes = 255
	maxReasonBytes    = 1024
	maxAddressBytes   = 512
	joinBytes         = 4 + 16 + 1 // before the address
)

// AppendTo encodes the message behind b.
//
//	version u8 · kind u8 · from i32 · to i32 · directory [16] · length of cluster u8, cluster · body
//
// Integers are big-endian. The body of a raft message is its protobuf encoding.
func (m *Message) AppendTo(b []byte) ([]byte, error) {
	if len(m.Cluster) > maxClusterIDBytes {
		return b, fmt.Errorf("encode quorum message: cluster id of %d bytes", len(m.Cluster))
	}
	kind := byte(kindRaft)
	switch {
	case m.Join != nil:
		kind = kindJoin
	case m.Refusal != nil:
		kind = kindRefusal
	}
	b = append(b, envelopeVersion, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(m.From))
	b = binary.BigEndian.AppendUint32(b, uint32(m.To))
	b = append(b, m.FromDirectory[:]...)
	b = append(b, byte(len(m.Cluster)))
	b = append(b, m.Cluster...)
	switch kind {
	case kindJoin:
		b = binary.BigEndian.AppendUint32(b, uint32(m.Join.Member.Node))
		b = append(b, m.Join.Member.Directory[:]...)
		b = append(b, m.Join.Hops)
		return append(b, m.Join.Address[:min(len(m.Join.Address), maxAddressBytes)]...), nil
	case kindRefusal:
		reason := m.Refusal.Reason
		return append(b, reason[:min(len(reason), maxReasonBytes)]...), nil
	}
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(b, m.Raft)
	if err != nil {
		return b, fmt.Errorf("encode quorum message: %w", err)
	}
	return b, nil
}

const envelopeHeader = 1 + 1 + 4 + 4 + 16 + 1

// ParseMessage decodes what AppendTo encoded. The result does not refer to b.
func ParseMessage(b []byte) (Message, error) {
	var m Message
	if len(b) < envelopeHeader || b[0] != envelopeVersion {
		return m, fmt.Errorf("decode quorum message: %d bytes, not an envelope of version %d", len(b), envelopeVersion)
	}
	kind := b[1]
	m.From = kafka.NodeID(binary.BigEndian.Uint32(b[2:]))
	m.To = kafka.NodeID(binary.BigEndian.Uint32(b[6:]))
	copy(m.FromDirectory[:], b[10:])
	n := int(b[26])
	b = b[envelopeHeader:]
	if len(b) < n {
		return m, fmt.Errorf("decode quorum message: cluster id cut short")
	}
	m.Cluster, b = string(b[:n]), b[n:]
	switch kind {
	case kindRaft:
		m.Raft = new(raftpb.Message)
		if err := proto.Unmarshal(b, m.Raft); err != nil {
			return m, fmt.Errorf("decode quorum message: %w", err)
		}
	case kindJoin:
		if len(b) < joinBytes || len(b) > joinBytes+maxAddressBytes {
			return m, fmt.Errorf("decode quorum message: join of %d bytes", len(b))
		}
		m.Join = &Join{Member: Voter{Node: kafka.NodeID(binary.BigEndian.Uint32(b))}, Hops: b[20], Address: string(b[joinBytes:])}
		copy(m.Join.Member.Directory[:], b[4:])
	case kindRefusal:
		m.Refusal = &Refusal{Reason: string(b[:min(len(b), maxReasonBytes)])}
	default:
		return m, fmt.Errorf("decode quorum message: unknown kind %d", kind)
	}
	return m, nil
}
