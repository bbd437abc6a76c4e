package fetchsession

import "github.com/fairlead-io/fairlead/broker/kafka"

// Partition is one partition of a fetch: what the fetcher asks of it.
type Partition struct {
	// Topic is empty when the request names the topic by an id that is unknown; TopicID is zero when it names it by a name that is.
	Topic     string
	TopicID   kafka.TopicID
	Partition int32
	// Code other than None is the answer: the topic cannot be read (UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID).
	// Unknown names are not judged here: the handler answers for them.
	Code kafka.ErrorCode

	FetchOffset        kafka.Offset
	LogStart           kafka.Offset // the follower's, NoOffset from a consumer
	CurrentLeaderEpoch kafka.LeaderEpoch
	LastFetchedEpoch   kafka.LeaderEpoch
	HighWatermark      kafka.Offset // the follower's (version 18), else the largest int64
	MaxBytes           int32
	Directory          kafka.DirectoryID

	// Attached is the caller's own, kept as long as the session has the partition. See [Fetch.Attach].
	Attached any

	node *node // that it is part of
}

// Result is what a read gave, as far as it decides whether the fetcher is told.
type Result struct {
	Code          kafka.ErrorCode
	HighWatermark kafka.Offset
	LogStart      kafka.Offset
	RecordBytes   int
	// Diverging: the response carries a diverging epoch. Preferred: it carries a preferred read replica.
	Diverging, Preferred bool
}

// Topics is the look-up of topics in one image of the cluster. A session looks its topics up again when the version is another.
type Topics interface {
	Version() uint64
	TopicName(id kafka.TopicID) (string, bool)
	TopicID(name string) (kafka.TopicID, bool)
}
