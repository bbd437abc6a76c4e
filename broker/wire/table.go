package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// Range is the versions [Min, Max], both included.
type Range struct{ Min, Max int16 }

// Contains tells whether version is in the range.
func (r Range) Contains(version int16) bool { return r.Min <= version && version <= r.Max }

// Scope says on which listeners an API is served.
type Scope uint8

const (
	// Everywhere: served on every listener, and advertised.
	Everywhere Scope = iota
	// Internal: served on the listener between brokers alone. Kafka's own controller APIs are there, and Fairlead's
	// private keys. Never advertised.
	Internal
)

// API is one row of the table.
type API struct {
	Key kmsg.Key
	// Name is Kafka's, as in metrics and logs.
	Name string
	// Scope says where the API is served when it has a handler.
	Scope Scope
	// Served is the range that is answered. Anything else closes the connection.
	Served Range
	// Advertised is the range that ApiVersions tells. It differs from Served for Produce alone.
	Advertised Range
	// FirstFlexible is the first version whose request and response have tags.
	FirstFlexible int16
	// MaxBody bounds the request's body in bytes, since decoding may need many times its size.
	MaxBody int
}

// Private keys, on the internal listener alone. Kafka counts its keys from 0; these are far away.
// They carry opaque bytes: see [PrivateRequest].
const (
	// KeyRaft carries raft messages one way: no response is ever sent.
	KeyRaft kmsg.Key = 0x7f00
	// KeyQuorum carries reports of log ends to the quorum's leader (metactl.LogEndsRequest), each with a response.
	KeyQuorum kmsg.Key = 0x7f01
	// KeyFollowed asks, without a body, which version of the cluster's image a broker has followed: uint64.
	KeyFollowed kmsg.Key = 0x7f02
)

const (
	// MaxDataBody bounds bodies that carry records or opaque bytes: socket.request.max.bytes bounds them first.
	MaxDataBody = 1 << 30
	// MaxControlBody bounds every other body, since decoded it may take thirty times as much. A fetch of 100,000
	// partitions has under 6 MiB.
	MaxControlBody = 8 << 20
)

// noFlexible is the first flexible version of an API that has none.
const noFlexible = 1<<15 - 1

// APIs is the table, in the order of keys: what Apache Kafka 4.4 serves on its brokers, and what Fairlead has of it.
// Callers must not change it.
//
// Produce: versions 0 to 2 are advertised and not served, as Kafka does since 4.0, because librdkafka takes version 0
// as the sign that the broker knows compression (KAFKA-18659).
var APIs = [...]API{
	{0, "Produce", Everywhere, Range{3, 13}, Range{0, 13}, 9, MaxDataBody},
	control(1, "Fetch", Everywhere, 4, 18, 12),
	control(2, "ListOffsets", Everywhere, 1, 11, 6),
	control(3, "Metadata", Everywhere, 0, 13, 9),
	control(8, "OffsetCommit", Everywhere, 2, 10, 8),
	control(9, "OffsetFetch", Everywhere, 1, 10, 6),
	control(10, "FindCoordinator", Everywhere, 0, 6, 3),
	control(11, "JoinGroup", Everywhere, 0, 9, 6),
	control(12, "Heartbeat", Everywhere, 0, 4, 4),
	control(13, "LeaveGroup", Everywhere, 0, 5, 4),
	control(14, "SyncGroup", Everywhere, 0, 5, 4),
	control(15, "DescribeGroups", Everywhere, 0, 6, 5),
	control(16, "ListGroups", Everywhere, 0, 5, 3),
	control(17, "SaslHandshake", Everywhere, 0, 1, noFlexible),
	control(18, "ApiVersions", Everywhere, 0, 5, 3),
	control(19, "CreateTopics", Everywhere, 2, 7, 5),
	control(20, "DeleteTopics", Everywhere, 1, 6, 4),
	control(21, "DeleteRecords", Everywhere, 0, 2, 2),
	control(22, "InitProducerId", Everywhere, 0, 5, 2),
	control(23, "OffsetForLeaderEpoch", Everywhere, 2, 4, 4),
	control(24, "AddPartitionsToTxn", Everywhere, 0, 5, 3),
	control(25, "AddOffsetsToTxn", Everywhere, 0, 4, 3),
	control(26, "EndTxn", Everywhere, 0, 5, 3),
	control(27, "WriteTxnMarkers", Everywhere, 1, 2, 1),
	control(28, "TxnOffsetCommit", Everywhere, 0, 6, 3),
	control(29, "DescribeAcls", Everywhere, 1, 3, 2),
	control(30, "CreateAcls", Everywhere, 1, 3, 2),
	control(31, "DeleteAcls", Everywhere, 1, 3, 2),
	control(32, "DescribeConfigs", Everywhere, 1, 4, 4),
	control(33, "AlterConfigs", Everywhere, 0, 2, 2),
	control(34, "AlterReplicaLogDirs", Everywhere, 1, 2, 2),
	control(35, "DescribeLogDirs", Everywhere, 1, 5, 2),
	control(36, "SaslAuthenticate", Everywhere, 0, 2, 2),
	control(37, "CreatePartitions", Everywhere, 0, 3, 2),
	control(38, "CreateDelegationToken", Everywhere, 1, 3, 2),
	control(39, "RenewDelegationToken", Everywhere, 1, 2, 2),
	control(40, "ExpireDelegationToken", Everywhere, 1, 2, 2),
	control(41, "DescribeDelegationToken", Everywhere, 1, 3, 2),
	control(42, "DeleteGroups", Everywhere, 0, 3, 2),
	control(43, "ElectLeaders", Everywhere, 0, 2, 2),
	control(44, "IncrementalAlterConfigs", Everywhere, 0, 1, 1),
	control(45, "AlterPartitionReassignments", Everywhere, 0, 1, 0),
	control(46, "ListPartitionReassignments", Everywhere, 0, 0, 0),
	control(47, "OffsetDelete", Everywhere, 0, 0, noFlexible),
	control(48, "DescribeClientQuotas", Everywhere, 0, 1, 1),
	control(49, "AlterClientQuotas", Everywhere, 0, 1, 1),
	control(50, "DescribeUserScramCredentials", Everywhere, 0, 0, 0),
	control(51, "AlterUserScramCredentials", Everywhere, 0, 0, 0),
	control(55, "DescribeQuorum", Everywhere, 0, 2, 0),
	control(56, "AlterPartition", Internal, 2, 3, 0),
	control(57, "UpdateFeatures", Everywhere, 0, 2, 0),
	control(58, "Envelope", Internal, 0, 0, 0),
	control(60, "DescribeCluster", Everywhere, 0, 2, 0),
	control(61, "DescribeProducers", Everywhere, 0, 0, 0),
	control(62, "BrokerRegistration", Internal, 0, 4, 0),
	control(63, "BrokerHeartbeat", Internal, 0, 2, 0),
	control(64, "UnregisterBroker", Everywhere, 0, 0, 0),
	control(65, "DescribeTransactions", Everywhere, 0, 0, 0),
	control(66, "ListTransactions", Everywhere, 0, 2, 0),
	control(67, "AllocateProducerIds", Internal, 0, 0, 0),
	control(68, "ConsumerGroupHeartbeat", Everywhere, 0, 1, 0),
	control(69, "ConsumerGroupDescribe", Everywhere, 0, 1, 0),
	control(71, "GetTelemetrySubscriptions", Everywhere, 0, 0, 0),
	control(72, "PushTelemetry", Everywhere, 0, 0, 0),
	control(74, "ListConfigResources", Everywhere, 0, 1, 0),
	control(75, "DescribeTopicPartitions", Everywhere, 0, 0, 0),
	control(76, "ShareGroupHeartbeat", Everywhere, 1, 1, 0),
	control(77, "ShareGroupDescribe", Everywhere, 1, 1, 0),
	control(78, "ShareFetch", Everywhere, 1, 2, 0),
	control(79, "ShareAcknowledge", Everywhere, 1, 2, 0),
	control(80, "AddRaftVoter", Everywhere, 0, 1, 0),
	control(81, "RemoveRaftVoter", Everywhere, 0, 0, 0),
	control(83, "InitializeShareGroupState", Internal, 0, 0, 0),
	control(84, "ReadShareGroupState", Internal, 0, 0, 0),
	control(85, "WriteShareGroupState", Internal, 0, 1, 0),
	control(86, "DeleteShareGroupState", Internal, 0, 0, 0),
	control(87, "ReadShareGroupStateSummary", Internal, 0, 1, 0),
	control(88, "StreamsGroupHeartbeat", Everywhere, 0, 1, 0),
	control(89, "StreamsGroupDescribe", Everywhere, 0, 1, 0),
	control(90, "DescribeShareGroupOffsets", Everywhere, 0, 1, 0),
	control(91, "AlterShareGroupOffsets", Everywhere, 0, 0, 0),
	control(92, "DeleteShareGroupOffsets", Everywhere, 0, 0, 0),
	control(93, "StreamsGroupTopologyDescriptionUpdate", Everywhere, 0, 0, 0),
	{KeyRaft, "FairleadRaft", Internal, Range{}, Range{}, 0, MaxDataBody},
	{KeyQuorum, "FairleadQuorum", Internal, Range{}, Range{}, 0, MaxDataBody},
	{KeyFollowed, "FairleadFollowed", Internal, Range{}, Range{}, 0, MaxControlBody},
}

// control is a row whose served range is advertised as it is.
func control(key kmsg.Key, name string, scope Scope, first, last, firstFlexible int16) API {
	r := Range{first, last}
	return API{key, name, scope, r, r, firstFlexible, MaxControlBody}
}

// Lookup finds the row of a key, whether it is served or not.
func Lookup(key kmsg.Key) (API, bool) {
	for i := range APIs {
		if APIs[i].Key == key {
			return APIs[i], true
		}
	}
	return API{}, false
}
