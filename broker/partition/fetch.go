package partition

import (
	"errors"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/seglog"
)

// Fetch reads for a consumer or a follower. It does not wait: see [Watch].
//
// The bounds are taken under the mutex, the log is read without it. A truncation in between cannot show a reader what
// is not in [log start, bound) of one moment: a consumer's bound is committed, and a follower refuses batches of a later
// epoch than the one it asked with.
func (p *Partition) Fetch(r FetchRequest) FetchResult {
	p.mu.Lock()
	var a after
	result, limit := p.bounds(r)
	if result.Code == kafka.None && result.Diverging.Epoch == kafka.NoLeaderEpoch && r.Replica != kafka.NoNode {
		result.Code = p.machine.StepFetched(replica.Fetched{
			Replica: r.Replica, Epoch: r.ReplicaEpoch, Start: r.ReplicaLogStart, End: r.From, Now: r.Now,
		})
		a = p.carryOut(r.Now)
		result.HighWatermark, result.LastStable = p.machine.HighWatermark(), p.lastStable()
		result.StaleHW = r.ReplicaHW < min(result.HighWatermark, r.From)
	}
	result.Settled = result.Code == kafka.None && result.Diverging.Epoch == kafka.NoLeaderEpoch && r.From >= limit &&
		(r.Replica == kafka.NoNode || slices.Contains(p.isr, r.Replica))
	log := p.log
	p.mu.Unlock()
	a.run()
	if result.Code != kafka.None || result.Diverging.Epoch != kafka.NoLeaderEpoch || r.From >= limit {
		return result
	}
	slice, err := log.Read(seglog.ReadRequest{
		From: r.From, Limit: limit, MaxBytes: r.MaxBytes, AtLeastOneBatch: r.AtLeastOneBatch,
	})
	switch {
	case errors.Is(err, seglog.ErrOffsetOutOfRange):
		return p.outOfRange(result) // deleted meanwhile
	case err != nil:
		result.Code = p.storageError("read", err)
		return result
	}
	result.Slice = slice
	if r.Isolation == ReadCommitted && r.Replica == kafka.NoNode && slice.Len > 0 {
		aborted, err := log.AbortedTransactions(r.From, slice.NextOffset)
		result.Aborted = aborted
		if err != nil {
			slice.Release()
			result.Slice = seglog.Slice{}
			result.Code = p.storageError("read aborted transactions of", err)
		}
	}
	return result
}

// bounds checks a fetch and gives the end of what it may read. p.mu is held.
func (p *Partition) bounds(r FetchRequest) (result FetchResult, limit kafka.Offset) {
	result = FetchResult{
		HighWatermark: kafka.NoOffset, LastStable: kafka.NoOffset, LogStart: kafka.NoOffset,
		Diverging: Diverging{Epoch: kafka.NoLeaderEpoch, End: kafka.NoOffset}, Preferred: kafka.NoNode, Leader: p.leader(),
	}
	if result.Code = p.mayRead(r); result.Code != kafka.None {
		return result, 0
	}
	m := p.machine
	if r.LastFetchedEpoch != kafka.NoLeaderEpoch {
		d, code := p.diverging(r.From, r.LastFetchedEpoch)
		if code != kafka.None {
			result.Code = code
			return result, 0
		}
		if d.Epoch != kafka.NoLeaderEpoch {
			result.Diverging = d
			result.HighWatermark, result.LastStable, result.LogStart = m.HighWatermark(), p.lastStable(), m.LogStart()
			return result, 0
		}
	}
	if r.From < m.LogStart() || r.From > m.LogEnd() {
		if r.From > m.LogEnd() && m.Role() == replica.Follower {
			result.Code = kafka.OffsetNotAvailable // the leader may have it
			return result, 0
		}
		return p.outOfRangeFor(r, result), 0
	}
	result.HighWatermark, result.LastStable, result.LogStart = m.HighWatermark(), p.lastStable(), m.LogStart()
	switch {
	case r.Replica != kafka.NoNode:
		limit = m.LogEnd()
	case r.Isolation == ReadCommitted:
		limit = result.LastStable
	default:
		limit = result.HighWatermark
	}
	return result, limit
}

// mayRead checks role and leader epoch. p.mu is held.
func (p *Partition) mayRead(r FetchRequest) kafka.ErrorCode {
	switch {
	case p.closed || p.host.fenced.Load():
		return kafka.NotLeaderOrFollower
	case p.offline() || p.owed != nil:
		return kafka.KafkaStorageError
	}
	if code := p.machine.CheckEpoch(r.CurrentLeaderEpoch); code != kafka.None {
		return code
	}
	switch p.machine.Role() {
	case replica.Leader:
		return kafka.None
	case replica.Follower:
		if r.Replica == kafka.NoNode && r.AllowFollower {
			return kafka.None
		}
	}
	return kafka.NotLeaderOrFollower
}

// diverging compares the reader's history with the log's: the reader holds a record of lastEpoch just before from.
func (p *Partition) diverging(from kafka.Offset, lastEpoch kafka.LeaderEpoch) (Diverging, kafka.ErrorCode) {
	none := Diverging{Epoch: kafka.NoLeaderEpoch, End: kafka.NoOffset}
	epoch, end, ok := p.log.Epochs().EndOffsetFor(lastEpoch, p.machine.LogEnd())
	switch {
	case !ok:
		return none, kafka.OffsetOutOfRange // an epoch that never was here
	case epoch < lastEpoch || end < from:
		return Diverging{Epoch: epoch, End: end}, kafka.None
	}
	return none, kafka.None
}

// outOfRangeFor is the refusal; a follower is told where the log starts, since that is where it starts over.
func (p *Partition) outOfRangeFor(r FetchRequest, result FetchResult) FetchResult {
	result.Code = kafka.OffsetOutOfRange
	if r.Replica != kafka.NoNode {
		result.LogStart = p.machine.LogStart()
	}
	return result
}

func (p *Partition) outOfRange(result FetchResult) FetchResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	result.Code, result.LogStart = kafka.OffsetOutOfRange, p.machine.LogStart()
	return result
}

// lastStable is the end of what readers of committed records see. p.mu is held.
func (p *Partition) lastStable() kafka.Offset {
	return p.log.Producers().LastStable(p.machine.HighWatermark())
}
