package server

import (
	"math"
	"slices"

	"github.com/fairlead-io/fairlead/broker/coordinator"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/record"
)

// groupLog is a partition of __consumer_offsets as its coordinator sees it.
type groupLog struct {
	p     *partition.Partition
	clock clock
}

// Append appends one batch with acks=all and without a time limit. See coordinator.Log.
func (l groupLog) Append(epoch kafka.LeaderEpoch, batch record.Batch, done func(coordinator.AppendResult)) {
	l.p.Produce(partition.ProduceRequest{
		Records: batch, Acks: partition.AcksAll, Origin: partition.OriginCoordinator, LeaderEpoch: epoch,
		Timeout: math.MaxInt64 / 4, Wall: l.clock.Wall(), Now: l.clock.Elapsed(),
	}, func(r partition.ProduceResult) {
		done(coordinator.AppendResult{Code: r.Code, BaseOffset: r.BaseOffset})
	})
}

// Read reads whole committed batches into buf, or into a larger buffer when one batch does not fit.
func (l groupLog) Read(from kafka.Offset, buf []byte) ([]byte, error) {
	r := l.p.Fetch(partition.FetchRequest{
		From: max(from, l.Bounds().Start), MaxBytes: cap(buf), AtLeastOneBatch: true, Isolation: partition.ReadUncommitted,
		CurrentLeaderEpoch: kafka.NoLeaderEpoch, LastFetchedEpoch: kafka.NoLeaderEpoch, Replica: kafka.NoNode, Now: l.clock.Elapsed(),
	})
	if r.Code != kafka.None {
		return nil, r.Code.Err()
	}
	defer r.Slice.Release()
	buf = slices.Grow(buf[:0], r.Slice.Len)[:r.Slice.Len]
	if _, err := r.Slice.ReadAt(buf, 0); err != nil {
		return nil, err
	}
	return buf, nil
}

// Bounds gives the log's offsets.
func (l groupLog) Bounds() coordinator.Bounds {
	d := l.p.Describe()
	return coordinator.Bounds{Start: d.LogStart, HighWatermark: d.HighWatermark, End: d.LogEnd}
}
