package partition

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// DeleteRecordsRequest asks to forget the records below Before; -1 is the high watermark.
type DeleteRecordsRequest struct {
	Before  kafka.Offset
	Timeout time.Duration
	Now     kafka.Elapsed
}

// DeleteRecordsResult is the answer; LowWatermark is -1 with errors.
type DeleteRecordsResult struct {
	Code         kafka.ErrorCode
	LowWatermark kafka.Offset
}

// deleteWait is a DeleteRecords that waits until every live replica has moved its log start.
type deleteWait struct {
	before   kafka.Offset
	deadline kafka.Elapsed
	epoch    kafka.LeaderEpoch
	done     func(DeleteRecordsResult)
}

type finishedDelete struct {
	done   func(DeleteRecordsResult)
	result DeleteRecordsResult
}

// DeleteRecords moves the log start, makes that durable, and calls done when all replicas on live brokers have followed.
func (p *Partition) DeleteRecords(r DeleteRecordsRequest, done func(DeleteRecordsResult)) {
	p.mu.Lock()
	result, wait := p.deleteRecords(r)
	var a after
	if wait != nil {
		wait.done = done
		p.deletes = append(p.deletes, *wait)
		a = p.carryOut(r.Now)
	}
	p.mu.Unlock()
	if wait == nil {
		done(result)
	}
	a.run()
}

func (p *Partition) deleteRecords(r DeleteRecordsRequest) (DeleteRecordsResult, *deleteWait) {
	refused := func(code kafka.ErrorCode) (DeleteRecordsResult, *deleteWait) {
		return DeleteRecordsResult{Code: code, LowWatermark: kafka.NoOffset}, nil
	}
	if code := p.leads(); code != kafka.None {
		return refused(code)
	}
	if !p.settings.Load().Delete {
		return refused(kafka.PolicyViolation)
	}
	before := r.Before
	if before == -1 {
		before = p.machine.HighWatermark()
	}
	if before < 0 || before > p.machine.HighWatermark() {
		return refused(kafka.OffsetOutOfRange)
	}
	if before > p.machine.LogStart() {
		// Durable when it returns: a crash after the answer does not bring the records back.
		if err := p.log.AdvanceStart(before); err != nil {
			p.machine.StepStart(p.log.StartOffset()) // a part may have gone
			return refused(p.storageError("delete records of", err))
		}
		p.machine.StepStart(before)
	}
	return DeleteRecordsResult{}, &deleteWait{
		before: before, deadline: r.Now.Add(r.Timeout), epoch: p.machine.LeaderEpoch(),
	}
}

// finishDeletes takes out the waits that are over. p.mu is held.
func (p *Partition) finishDeletes(now kafka.Elapsed) (out []finishedDelete) {
	kept := p.deletes[:0]
	low, code := kafka.NoOffset, p.leads()
	if code == kafka.None {
		low = p.machine.LowWatermark()
	}
	for _, w := range p.deletes {
		result := DeleteRecordsResult{Code: code, LowWatermark: kafka.NoOffset}
		switch {
		case code != kafka.None:
		case w.epoch != p.machine.LeaderEpoch():
			result.Code = kafka.NotLeaderOrFollower
		case low >= w.before:
			result = DeleteRecordsResult{LowWatermark: low}
		case now >= w.deadline:
			result.Code = kafka.RequestTimedOut
		default:
			kept = append(kept, w)
			continue
		}
		out = append(out, finishedDelete{w.done, result})
	}
	p.deletes = kept
	return out
}
