package wire

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// FetchResponse is a fetch response without the records themselves. Topics and partitions are encoded in their order.
// It is made to be kept and filled again: nothing in it is retained by the encoder.
type FetchResponse struct {
	Throttle  int32 // milliseconds
	Code      kafka.ErrorCode
	SessionID int32
	Topics    []FetchTopic
	// Endpoints are the nodes that the partitions' Leader hints name (version 16 and later).
	Endpoints []Endpoint
}

// FetchTopic groups partitions of one topic. Versions to 12 carry the name, later ones the id.
type FetchTopic struct {
	Name       string
	ID         kafka.TopicID
	Partitions []FetchPartition
}

// FetchPartition is all that a fetch response says of one partition but its records. Start from [NewFetchPartition]:
// the zero value claims offsets and a leader 0.
type FetchPartition struct {
	Partition        int32
	Code             kafka.ErrorCode
	HighWatermark    kafka.Offset
	LastStable       kafka.Offset
	LogStart         kafka.Offset         // version 5 and later
	Aborted          []AbortedTransaction // nil is encoded as null: read_uncommitted
	PreferredReplica kafka.NodeID         // version 11 and later
	// Diverging is the largest epoch and its end where the follower's log leaves ours (version 12 and later); NoLeaderEpoch when it does not.
	DivergingEpoch kafka.LeaderEpoch
	DivergingEnd   kafka.Offset
	// Leader hints at the leader when the code is NOT_LEADER_OR_FOLLOWER or FENCED_LEADER_EPOCH (version 12 and later); NoNode and NoLeaderEpoch when unknown.
	Leader      kafka.NodeID
	LeaderEpoch kafka.LeaderEpoch
	// RecordBytes is the length of the records to be spliced in here.
	RecordBytes int
}

// NewFetchPartition is a partition about which nothing is known but a code: offsets -1, no records, no hints.
func NewFetchPartition(partition int32, code kafka.ErrorCode) FetchPartition {
	return FetchPartition{
		Partition: partition, Code: code,
		HighWatermark: kafka.NoOffset, LastStable: kafka.NoOffset, LogStart: kafka.NoOffset,
		PreferredReplica: kafka.NoNode,
		DivergingEpoch:   kafka.NoLeaderEpoch, DivergingEnd: kafka.NoOffset,
		Leader: kafka.NoNode, LeaderEpoch: kafka.NoLeaderEpoch,
	}
}

// AbortedTransaction tells a read_committed consumer to skip what the producer wrote from First on, until its marker.
type AbortedTransaction struct {
	Producer kafka.ProducerID
	First    kafka.Offset
}

// Endpoint is where a node listens.
type Endpoint struct {
	Node kafka.NodeID
	Host string
	Port int32
	Rack string // empty means null
}

// Splice says that the records of one partition belong into a frame before the byte at At.
type Splice struct {
	At               int // index into the encoded bytes, from the start of the frame
	Topic, Partition int // indexes into Topics and its Partitions
	Len              int // bytes, more than 0
}

// FetchFrame is an encoded fetch response: Head's bytes with the splices' records between them.
type FetchFrame struct {
	// Head starts with the frame's size, which counts the splices too.
	Head []byte
	// Splices are in ascending order of At. Partitions without records have none.
	Splices []Splice
}
