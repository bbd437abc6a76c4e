package partition

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// Description is a partition's state at one moment, for metrics, DescribeLogDirs, unclean recovery and checkers.
type Description struct {
	Role           replica.Role
	Leader         Leader
	PartitionEpoch kafka.PartitionEpoch
	ISR            []kafka.NodeID // of a leader
	LogStart       kafka.Offset
	LogEnd         kafka.Offset
	HighWatermark  kafka.Offset
	LastStable     kafka.Offset
	LastEpoch      kafka.LeaderEpoch // of the last record: with LogEnd, how complete the log is
	SizeBytes      int64
	UnflushedBytes int   // appended and not known to be on the disk
	WrittenBytes   int64 // appended since this process began
	ServedBytes    int64 // sent to consumers since then
	Waiting        int   // produces
}

// Served notes that records were sent to a consumer: a long poll may read the same ones several times, so Fetch does not count.
func (p *Partition) Served(bytes int) { p.served.Add(int64(bytes)) }

// Describe gives the state.
func (p *Partition) Describe() Description {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.machine
	epoch := kafka.NoLeaderEpoch
	if m.LogEnd() > m.LogStart() {
		epoch, _ = p.log.Epochs().EpochOf(m.LogEnd() - 1)
	}
	return Description{
		Role: m.Role(), Leader: p.leader(), PartitionEpoch: m.PartitionEpoch(), ISR: slices.Clone(m.ISR()),
		LogStart: m.LogStart(), LogEnd: m.LogEnd(), HighWatermark: m.HighWatermark(), LastStable: p.lastStable(),
		LastEpoch: epoch, SizeBytes: p.log.Size(),
		UnflushedBytes: p.dirtyBytes, WrittenBytes: p.writtenBytes, ServedBytes: p.served.Load(), Waiting: p.waiting.len(),
	}
}
