package config

import (
	"fmt"
	"math"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Broker is what the settings of one broker amount to. What topics take from the broker is not in it: [ResolveTopic].
// A setting that may change while the broker runs is read again from a new Broker that [ResolveBroker] made
// from the changed layers.
type Broker struct {
	NodeID  kafka.NodeID
	Rack    string
	LogDir  string // the one data directory
	Network Network
	Quorum  Quorum
	Log     Log
	Replica Replica
	Group   Group
	Create  Create

	ProducerIDExpiration      time.Duration
	ProducerIDExpirationCheck time.Duration
}

// Network are the settings of listeners, connections and requests.
type Network struct {
	Listeners  []Listener // in the order of the setting
	Advertised []Listener // what clients are told; one for each listener that is not the controllers'
	Internal   string     // name of the listener on which brokers talk to each other
	AdminAddr  string     // HOST:PORT of metrics and health over HTTP; empty: none

	MaxRequestBytes    int32
	MaxConnections     int32
	MaxConnectionsByIP int32
	// MaxInflightBytes bounds the requests that are read and not yet answered; <= 0: no bound.
	MaxInflightBytes   int64
	MaxQueuedRequests  int32
	IdleTimeout        time.Duration
	Backlog            int32
	SendBufferBytes    int32 // -1: the system's choice
	ReceiveBufferBytes int32 // -1: the system's choice

	FetchMaxBytes     int32
	FetchSessionSlots int32
	// MaxDescribedPartitions bounds one DescribeTopicPartitions answer.
	MaxDescribedPartitions int32
}

// Listener is one name with an address.
type Listener struct {
	Name     string
	Protocol string // PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
	Host     string // empty: every interface
	Port     uint16 // 0: any free port
}

// Quorum are the settings of the metadata quorum and of membership in the cluster.
type Quorum struct {
	Voters            []Voter // of the first quorum; ignored once the directory knows its cluster
	ElectionTimeout   time.Duration
	FetchTimeout      time.Duration
	SnapshotBytes     int64         // log bytes between snapshots
	SnapshotInterval  time.Duration // longest time between snapshots; 0: none
	HeartbeatInterval time.Duration
	SessionTimeout    time.Duration
	RegistrationLimit time.Duration
	ControlledStop    bool
	DrainTime         time.Duration // of a stop, when leaders have been led away: clients are answered for so long; 0: none

	LeaderBalance         bool
	LeaderBalanceInterval time.Duration
}

// Voter is one member of the first quorum.
type Voter struct {
	ID   kafka.NodeID
	Host string
	Port uint16
}

// Log are the settings of the storage loops of a broker.
type Log struct {
	InitialTaskDelay         time.Duration
	RetentionCheckInterval   time.Duration
	CleanerBackoff           time.Duration
	FlushSchedulerInterval   time.Duration
	RecoveryCheckpointEvery  time.Duration
	LogStartCheckpointEvery  time.Duration
	WatermarkCheckpointEvery time.Duration
	RecoveryThreads          int32
	// ReserveBytes of the file system stay free: below it writes are refused, reads and deletes go on.
	ReserveBytes int64
}

// Replica are the settings of followers and of the in-sync set.
type Replica struct {
	LagTimeMax            time.Duration
	FetchMaxBytes         int32 // per partition
	FetchResponseMaxBytes int32
	FetchMinBytes         int32
	FetchWaitMax          time.Duration
	FetchBackoff          time.Duration
	SocketTimeout         time.Duration
	RequestTimeout        time.Duration
	LeaderThrottle        int64 // bytes per second to throttled followers; the largest number is no bound
	FollowerThrottle      int64 // the same, for what throttled replicas of this broker take in
	RackAware             bool  // replica.selector.class is Kafka's RackAwareReplicaSelector
}

// Group are the settings of consumer groups and of their offsets topic.
type Group struct {
	InitialRebalanceDelay time.Duration
	MinSessionTimeout     time.Duration
	MaxSessionTimeout     time.Duration
	MaxSize               int32
	MaxMetadataBytes      int32 // offset.metadata.max.bytes
	CommitTimeout         time.Duration
	LoadBufferBytes       int32
	Retention             time.Duration
	RetentionCheck        time.Duration
	TopicPartitions       int32
	TopicReplication      int16
	TopicSegmentBytes     int32
	TopicCompression      int32 // codec id of record batches
}

// Create are the settings of topics that come into being.
type Create struct {
	Auto              bool // by Metadata of a name that does not exist
	Partitions        int32
	ReplicationFactor int16
	DeleteAllowed     bool
}

// ResolveBroker gives the typed view of the layers Broker, Default and Static. Values were checked when they came in;
// a dynamic one that no longer parses is passed over for the next layer's.
func ResolveBroker(l Layers) (Broker, error) {
	r := resolver{func(name string) (parsed, bool) { return l.brokerValue(BrokerDef(name)) }}
	ms := func(name string) time.Duration { return millis(r.int(name)) }
	b := Broker{
		NodeID: kafka.NodeID(r.int("node.id")),
		Rack:   r.text("broker.rack"),
		Log: Log{
			InitialTaskDelay:         ms("log.initial.task.delay.ms"),
			RetentionCheckInterval:   ms("log.retention.check.interval.ms"),
			CleanerBackoff:           ms("log.cleaner.backoff.ms"),
			FlushSchedulerInterval:   ms("log.flush.scheduler.interval.ms"),
			RecoveryCheckpointEvery:  ms("log.flush.offset.checkpoint.interval.ms"),
			LogStartCheckpointEvery:  ms("log.flush.start.offset.checkpoint.interval.ms"),
			WatermarkCheckpointEvery: ms("replica.high.watermark.checkpoint.interval.ms"),
			RecoveryThreads:          int32(r.int("num.recovery.threads.per.data.dir")),
			ReserveBytes:             r.int("fairlead.disk.reserve.bytes"),
		},
		Replica: Replica{
			LagTimeMax:            ms("replica.lag.time.max.ms"),
			FetchMaxBytes:         int32(r.int("replica.fetch.max.bytes")),
			FetchResponseMaxBytes: int32(r.int("replica.fetch.response.max.bytes")),
			FetchMinBytes:         int32(r.int("replica.fetch.min.bytes")),
			FetchWaitMax:          ms("replica.fetch.wait.max.ms"),
			FetchBackoff:          ms("replica.fetch.backoff.ms"),
			SocketTimeout:         ms("replica.socket.timeout.ms"),
			RequestTimeout:        ms("request.timeout.ms"),
			LeaderThrottle:        r.rate("leader.replication.throttled.rate"),
			FollowerThrottle:      r.rate("follower.replication.throttled.rate"),
			RackAware:             r.text("replica.selector.class") == rackAwareSelector,
		},
		Group: Group{
			InitialRebalanceDelay: ms("group.initial.rebalance.delay.ms"),
			MinSessionTimeout:     ms("group.min.session.timeout.ms"),
			MaxSessionTimeout:     ms("group.max.session.timeout.ms"),
			MaxSize:               int32(r.int("group.max.size")),
			MaxMetadataBytes:      int32(r.int("offset.metadata.max.bytes")),
			CommitTimeout:         ms("offsets.commit.timeout.ms"),
			LoadBufferBytes:       int32(r.int("offsets.load.buffer.size")),
			Retention:             time.Duration(r.int("offsets.retention.minutes")) * time.Minute,
			RetentionCheck:        ms("offsets.retention.check.interval.ms"),
			TopicPartitions:       int32(r.int("offsets.topic.num.partitions")),
			TopicReplication:      int16(r.int("offsets.topic.replication.factor")),
			TopicSegmentBytes:     int32(r.int("offsets.topic.segment.bytes")),
			TopicCompression:      int32(r.int("offsets.topic.compression.codec")),
		},
		Create: Create{
			Auto:              r.bool("auto.create.topics.enable"),
			Partitions:        int32(r.int("num.partitions")),
			ReplicationFactor: int16(r.int("default.replication.factor")),
			DeleteAllowed:     r.bool("delete.topic.enable"),
		},
		ProducerIDExpiration:      ms("producer.id.expiration.ms"),
		ProducerIDExpirationCheck: ms("producer.id.expiration.check.interval.ms"),
	}
	var err error
	if b.Network, err = resolveNetwork(r); err != nil {
		return Broker{}, err
	}
	if b.Quorum, err = resolveQuorum(r); err != nil {
		return Broker{}, err
	}
	if b.LogDir, err = resolveLogDir(r); err != nil {
		return Broker{}, err
	}
	if c := b.Group.TopicCompression; c < 0 || c > maxCodec {
		return Broker{}, fmt.Errorf("read offsets.topic.compression.codec: %d is no codec, want 0 to %d", c, maxCodec)
	}
	return b, nil
}

// rate is a number of bytes per second, without a bound when it is not set.
func (r resolver) rate(name string) int64 {
	if p, ok := r.value(name); ok {
		return p.int
	}
	return math.MaxInt64
}

// maxCodec is the largest number of a codec in the record format.
const maxCodec = 4

const rackAwareSelector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

// brokerValue is the first value of the broker's chain that parses; a coarser synonym counts in its own unit.
func (l Layers) brokerValue(d *Def) (parsed, bool) {
	for _, f := range l.brokerChain(d) {
		if p, refusal := d.parse(f.value); refusal == nil {
			return p, true
		}
	}
	return parsed{}, false
}
