package partition

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/seglog"
)

// Isolation of a consumer's read.
type Isolation int8

const (
	ReadUncommitted Isolation = 0 // up to the high watermark
	ReadCommitted   Isolation = 1 // up to the last stable offset, with the list of aborted transactions
)

// FetchRequest is one partition's part of a fetch, of a consumer or of a follower.
type FetchRequest struct {
	From            kafka.Offset
	MaxBytes        int
	AtLeastOneBatch bool // the first batch is returned even if it is longer than MaxBytes
	Isolation       Isolation
	// CurrentLeaderEpoch is the reader's belief, checked if not NoLeaderEpoch; LastFetchedEpoch is the epoch of the
	// record before From, and asks for the check of divergence if not NoLeaderEpoch.
	CurrentLeaderEpoch kafka.LeaderEpoch
	LastFetchedEpoch   kafka.LeaderEpoch
	// Replica is NoNode for a consumer. The three fields after it are a follower's.
	Replica         kafka.NodeID
	ReplicaEpoch    kafka.BrokerEpoch // NoBrokerEpoch when unknown
	ReplicaLogStart kafka.Offset
	ReplicaHW       kafka.Offset // what the follower knows (Fetch 18), or math.MaxInt64
	// AllowFollower lets a consumer read from a replica that is not the leader (Fetch 11 and above).
	AllowFollower bool
	Rack          string // of the consumer, for PreferredReplica
	Now           kafka.Elapsed
}

// FetchResult is the answer for one partition. The caller must Release the Slice when it is not empty.
type FetchResult struct {
	Code          kafka.ErrorCode
	HighWatermark kafka.Offset // NoOffset on most errors, as Kafka answers
	LastStable    kafka.Offset
	// LogStart is set also with OFFSET_OUT_OF_RANGE to a follower, which needs it to start over.
	LogStart  kafka.Offset
	Aborted   []seglog.AbortedTransaction // read_committed only: to be skipped, from First to its marker
	Diverging Diverging                   // then there is no data
	Slice     seglog.Slice
	Preferred kafka.NodeID // where the consumer should read instead, or NoNode
	Leader    Leader
	// Settled: a fetch from this position gives no more, and changes nothing here, before a [Watch] with News that was there
	// before the fetch has told so. The follower of a replica that is not in sync is never settled: its fetches say that it lives.
	Settled bool
	// StaleHW: the follower's high watermark is behind (KIP-1166). Worth an answer without waiting only where
	// consumers read from followers.
	StaleHW bool
}

// Diverging tells a follower (or a consumer) that its log parts from the leader's: see KIP-595. Epoch is
// NoLeaderEpoch when there is no divergence.
type Diverging struct {
	Epoch kafka.LeaderEpoch
	End   kafka.Offset
}
