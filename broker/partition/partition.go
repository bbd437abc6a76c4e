package partition

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/seglog"
)

// Partition is one replica on this broker. Its methods may be called from any goroutine.
type Partition struct {
	id   kafka.TopicIDPartition
	name kafka.TopicPartition
	host *host

	// settings is replaced as a whole when the topic's settings change, so that a produce can be validated without the
	// mutex.
	settings atomic.Pointer[config.Topic]
	// due is when a tick must look at the partition: an Elapsed. It counts while marks.restless.
	due atomic.Int64
	// failure is why this log is out of service while others work; nil while it works.
	failure atomic.Pointer[Failure]
	// served is the bytes of records sent to consumers since the start.
	served atomic.Int64

	mu sync.Mutex
	// Guarded by mu. The log's Read and the slices it gives need no lock.
	log     *seglog.Log
	machine *replica.Machine
	isr     []kafka.NodeID // of the last image; not to be changed
	closed  bool           // deleted, or the broker stops: everything answers NOT_LEADER_OR_FOLLOWER
	watches [numWatchKinds]watchList
	waiting waitTable
	outbox  []finished   // answers to give, in the order of completion
	giving  bool         // a goroutine is giving them: it takes what is added meanwhile too
	deletes []deleteWait // DeleteRecords that wait for the low watermark
	marks   marks

	hwSeen, lsoSeen kafka.Offset        // as last told to watchers
	startSeen       kafka.Offset        // log start, as last told to watchers
	startWanted     kafka.Offset        // a follower's log start to be, made durable by a tick; 0 when it is
	owed            *replica.Truncation // could not be done for lack of handles or space: nothing is served before
	owesEpoch       bool                // a leader that waits for that truncation
	flushOwed       bool                // a flush failed for lack of handles or space
	dirtyBytes      int                 // appended since the last flush
	dirtySince      kafka.Elapsed       // the first of them; meaningless when there are none
	writtenBytes    int64               // appended since the start
}

// marks tells in which queues of the host a partition is, so that it is in each at most once.
type marks struct{ restless, flush, dirty bool }

// TopicPartition names the partition.
func (p *Partition) TopicPartition() kafka.TopicPartition { return p.name }

// ID names the partition by its topic's id.
func (p *Partition) ID() kafka.TopicIDPartition { return p.id }

// Throttled tells whether this replica's catching up counts for the broker's follower throttle: its topic's settings say so,
// and it is not in sync.
func (p *Partition) Throttled() bool {
	return p.settings.Load().FollowerThrottled.Has(p.id.Partition, p.host.o.Self) && !p.inISR(p.host.o.Self)
}

// ThrottledTo tells whether what this leader sends to a follower counts for the broker's leader throttle. As in Kafka, the
// settings name the leader.
func (p *Partition) ThrottledTo(follower kafka.NodeID) bool {
	return p.settings.Load().LeaderThrottled.Has(p.id.Partition, p.host.o.Self) && !p.inISR(follower)
}

func (p *Partition) inISR(n kafka.NodeID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.isr, n)
}

// Settings are the topic's settings as resolved on this broker. Not to be changed.
func (p *Partition) Settings() *config.Topic { return p.settings.Load() }
