package kafka

// Offset is the position of a record in its partition's log. Offsets never change.
type Offset int64

// NoOffset stands where an offset is expected and there is none.
const NoOffset Offset = -1

// LeaderEpoch counts the leaderships of one partition. It is stamped into every batch and decides truncation.
type LeaderEpoch int32

// NoLeaderEpoch means that the sender does not know or does not check the epoch.
const NoLeaderEpoch LeaderEpoch = -1

// PartitionEpoch counts every change of a partition's state: leader, in-sync set, replicas.
type PartitionEpoch int32

// BrokerEpoch counts registrations: a broker that registers again has a higher one.
type BrokerEpoch int64

// NoBrokerEpoch is the epoch of a broker that is not registered; in a fetch, of a client that is no broker.
const NoBrokerEpoch BrokerEpoch = -1

// ProducerEpoch counts the incarnations of one producer id.
type ProducerEpoch int16

// NoProducerEpoch marks a batch without idempotence.
const NoProducerEpoch ProducerEpoch = -1
