package partition

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/seglog"
)

// Timestamps of ListOffsets that are questions of their own.
const (
	TimestampLatest                kafka.Timestamp = -1
	TimestampEarliest              kafka.Timestamp = -2
	TimestampMax                   kafka.Timestamp = -3 // the record with the largest timestamp (KIP-734)
	TimestampEarliestLocal         kafka.Timestamp = -4 // the log start, as nothing is tiered (KIP-405)
	TimestampLatestTiered          kafka.Timestamp = -5 // none (KIP-1005)
	TimestampEarliestPendingUpload kafka.Timestamp = -6 // none (KIP-1023)
)

// ListOffsetsRequest asks for an offset by time.
type ListOffsetsRequest struct {
	Timestamp          kafka.Timestamp
	Isolation          Isolation
	CurrentLeaderEpoch kafka.LeaderEpoch
	Replica            kafka.NodeID // NoNode for a consumer; a follower sees up to the log end
}

// ListOffsetsResult is the answer. Offset is NoOffset when nothing matches, which is no error.
type ListOffsetsResult struct {
	Code        kafka.ErrorCode
	Timestamp   kafka.Timestamp
	Offset      kafka.Offset
	LeaderEpoch kafka.LeaderEpoch
}

// ListOffsets answers as the leader. OFFSET_NOT_AVAILABLE means that the leader is so new that its watermark may be
// behind what consumers saw before (KIP-207); versions below 5 of the API call it LEADER_NOT_AVAILABLE.
func (p *Partition) ListOffsets(r ListOffsetsRequest) ListOffsetsResult {
	p.mu.Lock()
	result := ListOffsetsResult{Timestamp: kafka.NoTimestamp, Offset: kafka.NoOffset, LeaderEpoch: kafka.NoLeaderEpoch}
	if result.Code = p.leads(); result.Code == kafka.None {
		result.Code = p.machine.CheckEpoch(r.CurrentLeaderEpoch)
	}
	if result.Code != kafka.None {
		p.mu.Unlock()
		return result
	}
	limit, unsure := p.listable(r)
	start, epoch, log := p.machine.LogStart(), p.machine.LeaderEpoch(), p.log
	firstEpoch, _ := log.Epochs().EpochOf(start)
	p.mu.Unlock()

	switch r.Timestamp {
	case TimestampLatest:
		if unsure {
			result.Code = kafka.OffsetNotAvailable
			return result
		}
		result.Offset, result.LeaderEpoch = limit, epoch
		return result
	case TimestampEarliest, TimestampEarliestLocal:
		result.Offset, result.LeaderEpoch = start, firstEpoch
		return result
	case TimestampLatestTiered, TimestampEarliestPendingUpload:
		return result
	}
	var found seglog.TimestampOffset
	var ok bool
	var err error
	if r.Timestamp == TimestampMax {
		found, ok, err = log.MaxTimestamp(limit)
	} else {
		found, ok, err = log.OffsetForTimestamp(r.Timestamp, limit)
	}
	switch {
	case err != nil:
		result.Code = p.storageError("look up a timestamp in", err)
	case ok:
		result.Timestamp, result.Offset, result.LeaderEpoch = found.Timestamp, found.Offset, found.LeaderEpoch
	case unsure:
		result.Code = kafka.OffsetNotAvailable
	}
	return result
}

// listable is the end of the records that the asker may hear of, and whether it may be behind what it saw at the
// leader before. p.mu is held.
func (p *Partition) listable(r ListOffsetsRequest) (limit kafka.Offset, unsure bool) {
	switch {
	case r.Replica != kafka.NoNode:
		return p.machine.LogEnd(), false
	case r.Isolation == ReadCommitted:
		return p.lastStable(), !p.machine.LatestKnown()
	default:
		return p.machine.HighWatermark(), !p.machine.LatestKnown()
	}
}

// EpochEnd is the answer to OffsetForLeaderEpoch: the largest epoch not above the one asked for, and where it ends.
// Both are -1 when nothing is known.
type EpochEnd struct {
	Code  kafka.ErrorCode
	Epoch kafka.LeaderEpoch
	End   kafka.Offset
}

// OffsetForLeaderEpoch answers as the leader where the records of an epoch end.
func (p *Partition) OffsetForLeaderEpoch(current, epoch kafka.LeaderEpoch) EpochEnd {
	p.mu.Lock()
	defer p.mu.Unlock()
	unknown := EpochEnd{Epoch: kafka.NoLeaderEpoch, End: kafka.NoOffset}
	if unknown.Code = p.leads(); unknown.Code == kafka.None {
		unknown.Code = p.machine.CheckEpoch(current)
	}
	if unknown.Code != kafka.None {
		return unknown
	}
	found, end, ok := p.log.Epochs().EndOffsetFor(epoch, p.machine.LogEnd())
	if !ok {
		return unknown
	}
	return EpochEnd{Epoch: found, End: end}
}

// Role tells what this broker is for the partition, and who leads.
func (p *Partition) Role() (replica.Role, Leader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.Role(), p.leader()
}
