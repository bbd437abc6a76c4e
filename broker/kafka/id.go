package kafka

import (
	"encoding/base64"
	"fmt"
	"strconv"
)

// NodeID names a broker: its ordinal in the StatefulSet, or its place in a development cluster.
type NodeID int32

// NoNode stands where a node id is expected and there is none: a partition without leader.
const NoNode NodeID = -1

// UUID is Kafka's 16-byte identifier, written in text as 22 characters of URL-safe base64.
type UUID [16]byte

// String is the 22-character form that Kafka's tools print.
func (u UUID) String() string { return base64.RawURLEncoding.EncodeToString(u[:]) }

// IsZero tells whether the identifier is unset.
func (u UUID) IsZero() bool { return u == UUID{} }

// ParseUUID reads the 22-character form.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != len(u) {
		return UUID{}, fmt.Errorf("parse uuid %q: want 22 characters of URL-safe base64", s)
	}
	copy(u[:], b)
	return u, nil
}

// TopicID names one life of a topic: a topic deleted and created again has another one.
type TopicID UUID

func (t TopicID) String() string { return UUID(t).String() }

// IsZero tells whether the id is unset, as in requests that name topics by name.
func (t TopicID) IsZero() bool { return UUID(t).IsZero() }

// DirectoryID names one data directory for its whole life. It is written into the empty directory once,
// so a node id that comes back with another directory id is a new, empty replica.
type DirectoryID UUID

func (d DirectoryID) String() string { return UUID(d).String() }

// IsZero tells whether the id is unset.
func (d DirectoryID) IsZero() bool { return UUID(d).IsZero() }

// TopicPartition names a partition as people and most requests do.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is the name of the partition's folder: topic-partition.
func (tp TopicPartition) String() string { return tp.Topic + "-" + strconv.Itoa(int(tp.Partition)) }

// TopicIDPartition names a partition of one life of a topic.
type TopicIDPartition struct {
	TopicID   TopicID
	Partition int32
}

func (tp TopicIDPartition) String() string {
	return tp.TopicID.String() + "-" + strconv.Itoa(int(tp.Partition))
}

// ProducerID names an idempotent or transactional producer.
type ProducerID int64

// NoProducerID marks a batch without idempotence.
const NoProducerID ProducerID = -1
