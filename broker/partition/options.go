package partition

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/seglog"
	"github.com/fairlead-io/fairlead/broker/vfs"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Options are what a manager needs from outside.
type Options struct {
	FS        vfs.FS
	Directory *seglog.Directory // opened by the caller, who closes it after Manager.Close
	Files     *seglog.FilePool
	Self      kafka.NodeID
	Rules     replica.Rules

	// LagMax is replica.lag.time.max.ms.
	LagMax time.Duration
	// ReserveBytes is the free space below which appends are refused, before the disk runs full, at most 1/ReserveShare of the
	// volume. 0: appends go on until the disk is full.
	ReserveBytes int64

	// ProducerExpiry is producer.id.expiration.ms as it is now, 0 for never. nil: never.
	ProducerExpiry func() time.Duration
	// Compaction bounds the memory of one compaction.
	Compaction seglog.CompactBounds

	// Settings resolves a topic's settings on this broker; it must not call the manager. min.insync.replicas is taken from
	// the image instead, since the controller must come to the same number.
	Settings func(image *metadata.Image, topic string) config.Topic
	// Alter sends an AlterPartition request to the controller and calls done exactly once, possibly at once. There is
	// one request of leaders in flight, and at most one for each maxAlterBatch failed logs. The request's broker id and epoch are set.
	Alter func(req *kmsg.AlterPartitionRequest, done func(*kmsg.AlterPartitionResponse, error))
	// OnChange is told of each change of a partition's role, in order, with no lock held: the fetchers follow it, and
	// the coordinators. May be nil.
	OnChange func([]Change)
	// Each calls do(0) … do(n-1), possibly several at once, and returns when all have returned. nil: one after the other.
	// It bounds the concurrency of opening logs.
	Each func(n int, do func(i int))
	// EachSync is the same for flushing and closing logs, which wait for the disk. nil: as Each.
	EachSync func(n int, do func(i int))
	// Damaged is told of every operation that met damage in what is stored; a partition's mutex may be held. May be nil.
	Damaged func(doing string, p kafka.TopicPartition, err error)
	// Failed is told of each log that goes out of service while the others work: see Manager.FailedLogs. A partition's mutex may be
	// held. May be nil.
	Failed func(*Failure)
	// Observe is for simulations and metrics; may be nil.
	Observe Observer
}

// Change is a new role of a partition on this broker.
type Change struct {
	Partition *Partition
	Role      replica.Role
	Leader    Leader // NoNode when nobody leads or the replica is gone
	Gone      bool   // the replica was deleted here
}

// Observer is told what happens, in the order in which it happens, with the partition's mutex held: it must not call back.
type Observer interface {
	// Watermark is called for every published high watermark.
	Watermark(p kafka.TopicIDPartition, from, to kafka.Offset)
	// Truncated is called for every truncation, with the old log end.
	Truncated(p kafka.TopicIDPartition, to, end kafka.Offset)
	// Elected is called when this broker begins to lead.
	Elected(p kafka.TopicIDPartition, epoch kafka.LeaderEpoch, start kafka.Offset)
}
