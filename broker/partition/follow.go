package partition

import (
	"errors"
	"io"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// FetchPosition is what to ask the leader for next; ok is false when this replica follows nobody. The log start that it
// tells the leader is the one that would survive a crash, since DeleteRecords is answered by it.
func (p *Partition) FetchPosition() (pos replica.FetchPosition, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.owed != nil || p.offline() {
		return replica.FetchPosition{}, false
	}
	pos, ok = p.machine.FetchPosition(p.log.Epochs())
	pos.LogStart = min(pos.LogStart, p.log.StartOffset())
	pos.Unsettled = pos.LogStart < p.machine.LogStart()
	return pos, ok
}

// TakeAnswer appends what a leader sent, in one append, and follows its watermark and log start.
//
//	None                   done, or the answer was for an earlier leadership and is of no use
//	KAFKA_STORAGE_ERROR    not written: the disk is full or broken
//	CORRUPT_MESSAGE        the batches are damaged, or do not continue this log; those before were taken
func (p *Partition) TakeAnswer(a replica.Answer) kafka.ErrorCode {
	// Checksums need no lock.
	whole, damaged := intact(a.Records)
	p.mu.Lock()
	code, then := p.takeAnswer(a, whole)
	p.mu.Unlock()
	if then.flush != nil { // now: the next fetch is how the leader learns of it
		then.flush = nil
		p.flush(a.Now)
	}
	then.run()
	if code == kafka.None && damaged {
		return kafka.CorruptMessage
	}
	return code
}

func (p *Partition) takeAnswer(a replica.Answer, records []byte) (kafka.ErrorCode, after) {
	if p.closed || !p.machine.Follows(a.Asked) {
		return kafka.None, after{}
	}
	if p.owed != nil || p.offline() {
		return kafka.KafkaStorageError, after{}
	}
	records, code := p.continuing(records)
	if len(records) > 0 {
		if p.host.space.full.Load() {
			return kafka.KafkaStorageError, after{}
		}
		if err := p.appendFetched(records, a.Wall); err != nil {
			code = p.storageError("append to", err)
			if p.owed != nil {
				return code, p.carryOut(a.Now)
			}
		}
		p.noteUnflushed(len(records), a.Now)
	}
	// After an error a part of the batches may be in the log all the same.
	p.machine.StepReplicated(replica.Replicated{
		End: p.log.EndOffset(), LeaderStart: a.LeaderStart, LeaderWatermark: a.LeaderWatermark, Empty: len(records) == 0,
	})
	return code, p.carryOut(a.Now)
}

// appendFetched appends to a follower's log. The first batch of an empty log may begin below its start, where
// DeleteRecords cut the leader's log in the middle of the batch: then the log begins with that batch, and its start
// stays where it is.
func (p *Partition) appendFetched(records []byte, wall kafka.Timestamp) error {
	start := p.log.StartOffset()
	base := record.Batch(records).BaseOffset()
	if base >= p.log.EndOffset() {
		return p.log.Append(records, wall)
	}
	err := p.log.TruncateFullyTo(base)
	if err == nil {
		err = p.log.Append(records, wall)
	}
	if err == nil {
		err = p.log.AdvanceStart(start)
	}
	if err != nil { // on a full disk each of the three may stop half done
		p.truncate(replica.Truncation{To: start, Full: true}) // as the machine believes it is
	}
	return err
}

// intact is the leading batches that are whole and have the right checksum; a batch that is cut off is no damage.
func intact(records []byte) (whole []byte, damaged bool) {
	n := 0
	for rest := records; len(rest) > 0; {
		b, tail, err := record.Next(rest)
		if err != nil {
			return records[:n], !cut(err)
		}
		if !b.CheckCRC() {
			return records[:n], true
		}
		n += b.Size()
		rest = tail
	}
	return records[:n], false
}

// cut tells whether the bytes end inside a batch, as a fetch that reached its size does.
func cut(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }

// continuing is the leading batches that go on where this log ends: offsets and epochs rise, and no epoch is above that of
// the leader asked. Offsets may leave gaps, where compaction removed batches. p.mu is held.
func (p *Partition) continuing(records []byte) ([]byte, kafka.ErrorCode) {
	end := p.log.EndOffset()
	last := kafka.NoLeaderEpoch
	if e, ok := p.log.Epochs().Latest(); ok {
		last = e.Epoch
	}
	n, skipped := 0, 0
	for rest := records; len(rest) > 0; {
		b, tail, err := record.Next(rest)
		if err != nil {
			break
		}
		if n == skipped && b.NextOffset() <= end {
			n += b.Size() // a response may begin before the offset asked for
			skipped = n
			rest = tail
			continue
		}
		straddles := n == skipped && p.machine.LogStart() == end && b.NextOffset() > end // see appendFetched
		if b.BaseOffset() < end && !straddles || b.LeaderEpoch() < last || !p.machine.AcceptsEpoch(b.LeaderEpoch()) {
			return records[skipped:n], kafka.CorruptMessage
		}
		n += b.Size()
		end, last, rest = b.NextOffset(), b.LeaderEpoch(), tail
	}
	return records[skipped:n], kafka.None
}

// TakeDivergence truncates to where the leader says that the two histories part.
func (p *Partition) TakeDivergence(d replica.Diverged, now kafka.Elapsed) {
	p.mu.Lock()
	var then after
	if !p.closed && p.owed == nil && !p.offline() {
		p.machine.StepDiverged(d, p.log.Epochs())
		then = p.carryOut(now)
	}
	p.mu.Unlock()
	then.run()
}

// TakeOutOfRange starts the log over where the leader's begins, if there is nothing to go on from. It tells whether the
// position changed; if not, the fetcher tries again later.
func (p *Partition) TakeOutOfRange(o replica.OutOfRange, now kafka.Elapsed) (moved bool) {
	p.mu.Lock()
	var then after
	if !p.closed && p.owed == nil && !p.offline() {
		moved = p.machine.StepOutOfRange(o)
		then = p.carryOut(now)
	}
	p.mu.Unlock()
	then.run()
	return moved
}
