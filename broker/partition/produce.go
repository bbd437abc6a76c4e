package partition

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/producerstate"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// Produce appends r.Records if this broker leads, and calls done when as many replicas have them as r.Acks asks for.
// Calls of one goroutine append in their order. What is refused is not appended, not even in part.
func (p *Partition) Produce(r ProduceRequest, done func(ProduceResult)) {
	p.mu.Lock()
	if code := p.admit(r); code != kafka.None {
		result := p.refusal(code)
		p.mu.Unlock()
		done(result)
		return
	}
	p.mu.Unlock()
	// Outside the mutex: it reads every byte for the checksum.
	info, refusal := record.ValidateProduce(r.Records, produceRules(p.settings.Load(), r))
	if refusal != nil {
		done(p.refuse(refusal))
		return
	}
	p.mu.Lock()
	result, wait := p.append(r, info)
	if wait {
		deadline := r.Now.Add(r.Timeout)
		p.machine.Wait(p.waiting.add(finished{done, result}), result.NextOffset, r.Acks == AcksAll, deadline)
	}
	a := p.carryOut(r.Now)
	p.mu.Unlock()
	if !wait {
		done(result)
	}
	a.run()
}

// append is the part of Produce under the mutex. wait is true when the batches are in the log, or were before, and
// acks are awaited.
func (p *Partition) append(r ProduceRequest, info record.ProduceInfo) (result ProduceResult, wait bool) {
	if code := p.admit(r); code != kafka.None {
		return p.refusal(code), false
	}
	origin := producerstate.Client
	if r.Origin == OriginCoordinator {
		origin = producerstate.Coordinator
	}
	dup, code := p.log.Producers().Check(info.Batch, origin)
	switch {
	case code != kafka.None:
		return p.refusal(code), false
	case dup != nil:
		// Stored before: the same answer again, as soon as it is as safe as the caller wants it.
		result = p.accepted(dup.BaseOffset, dup.LastOffset+1)
		if info.AppendTime != kafka.NoTimestamp {
			result.LogAppendTime = dup.Timestamp
		}
		return result, r.Acks != AcksNone
	}
	base := p.log.EndOffset()
	info.Batch.SetBaseOffset(base)
	info.Batch.SetLeaderEpoch(p.machine.LeaderEpoch())
	if err := p.log.Append(info.Batch, r.Wall); err != nil {
		return p.refusal(p.storageError("append to", err)), false
	}
	p.noteUnflushed(info.Batch.Size(), r.Now)
	p.machine.StepAppended(info.Batch.NextOffset(), r.Now)
	p.watches[WatchLogEnd].notify()
	result = p.accepted(base, info.Batch.NextOffset())
	result.LogAppendTime = info.AppendTime
	return result, r.Acks != AcksNone
}

// admit tells whether this replica may append r now. p.mu is held.
func (p *Partition) admit(r ProduceRequest) kafka.ErrorCode {
	if code := p.leads(); code != kafka.None {
		return code
	}
	if code := p.machine.CheckEpoch(r.LeaderEpoch); code != kafka.None {
		return code
	}
	if r.Acks != AcksNone && r.Acks != AcksLeader && r.Acks != AcksAll {
		return kafka.InvalidRequiredAcks
	}
	if code := p.machine.Admit(r.Acks == AcksAll); code != kafka.None {
		return code
	}
	if p.host.space.full.Load() {
		return kafka.KafkaStorageError
	}
	return kafka.None
}

func (p *Partition) accepted(base, next kafka.Offset) ProduceResult {
	return ProduceResult{
		BaseOffset: base, NextOffset: next, LogAppendTime: kafka.NoTimestamp, LogStart: p.machine.LogStart(), Leader: p.leader(),
	}
}

// refusal is a result without offsets. p.mu is held.
func (p *Partition) refusal(code kafka.ErrorCode) ProduceResult {
	return ProduceResult{
		Code: code, BaseOffset: kafka.NoOffset, NextOffset: kafka.NoOffset, LogAppendTime: kafka.NoTimestamp,
		LogStart: kafka.NoOffset, Leader: p.leader(),
	}
}

// refuse is a refusal with the reasons for it.
func (p *Partition) refuse(r *record.Refusal) ProduceResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	result := p.refusal(r.Code)
	result.Message, result.RecordErrors = r.Message, r.RecordErrors
	if len(r.RecordErrors) > 0 {
		result.LogStart = p.machine.LogStart() // Kafka tells it when single records are to blame
	}
	return result
}

func (p *Partition) leader() Leader {
	return Leader{ID: p.machine.Leader(), Epoch: p.machine.LeaderEpoch()}
}

// leads tells why this replica cannot answer as a leader, or None. p.mu is held.
func (p *Partition) leads() kafka.ErrorCode {
	switch {
	case p.closed || p.host.fenced.Load() || p.machine.Role() != replica.Leader:
		return kafka.NotLeaderOrFollower
	case p.offline() || p.owed != nil:
		return kafka.KafkaStorageError
	}
	return kafka.None
}
