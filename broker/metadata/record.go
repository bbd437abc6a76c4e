package metadata

import "github.com/fairlead-io/fairlead/broker/kafka"

// Record is one change of the image: one of the types of this file.
type Record interface {
	recordType() recordType
	apply(*edit)
}

// ClusterRecord names the cluster: the first record of its log.
type ClusterRecord struct{ ClusterID string }

// FeatureRecord sets a finalized feature level; 0 removes it.
type FeatureRecord struct {
	Name  string
	Level int16
}

// RegisterBroker registers a broker, in place of an earlier registration of the same node. In a log entry RegisteredAt is
// 0 and becomes the entry's index; in a snapshot it is set.
type RegisterBroker struct{ Broker Broker }

// BrokerChange changes the state of a registered broker.
type BrokerChange struct {
	ID    kafka.NodeID
	Epoch kafka.BrokerEpoch // of the registration that it belongs to
	// What the broker is from now on: see Broker.
	Fenced, ControlledShutdown, DiskFull bool
}

// UnregisterBroker removes a registration.
type UnregisterBroker struct {
	ID    kafka.NodeID
	Epoch kafka.BrokerEpoch
}

// TopicRecord creates a topic without partitions.
type TopicRecord struct {
	ID   kafka.TopicID
	Name string
}

// RemoveTopic removes a topic, its partitions and its settings.
type RemoveTopic struct{ ID kafka.TopicID }

// PartitionRecord creates a partition. Partitions of a topic are created in order of their number.
type PartitionRecord struct {
	TopicID   kafka.TopicID
	Number    int32
	Partition Partition
}

// PartitionChange changes a partition. Fields tells which of the others count. The partition epoch rises by one; the leader
// epoch too when Fields has SetLeader, be it the same leader.
type PartitionChange struct {
	TopicID  kafka.TopicID
	Number   int32
	Fields   PartitionFields
	Leader   kafka.NodeID
	Recovery RecoveryState
	Replicas, ISR, ELR, LastKnownELR,
	Adding, Removing []kafka.NodeID
}

// PartitionFields is a set of fields of a partition.
type PartitionFields uint8

const (
	SetLeader PartitionFields = 1 << iota
	SetRecovery
	SetReplicas
	SetISR
	SetELR
	SetLastKnownELR
	SetAdding
	SetRemoving
)

// ConfigRecord sets or removes one setting.
type ConfigRecord struct {
	Resource Resource
	Name     string
	Value    string
	Remove   bool
}

// ProducerIDsRecord hands a block of producer ids, [previous Next, Next), to a broker.
type ProducerIDsRecord struct {
	Next        kafka.ProducerID
	BrokerID    kafka.NodeID
	BrokerEpoch kafka.BrokerEpoch
}

// BrokerEpochRecord keeps the counter of broker epochs in a snapshot: it must not fall when the newest broker is gone.
type BrokerEpochRecord struct{ Next kafka.BrokerEpoch }
