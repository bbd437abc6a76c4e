package producerstate

import (
	"math"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// RememberedBatches is how many of a producer's last batches are recognised when they are sent again. Clients keep at
// most as many requests in flight.
const RememberedBatches = 5

// batchMeta is what a duplicate is recognised by and answered with.
type batchMeta struct {
	lastSequence int32 // record.NoSequence for coordinators' batches
	offsetDelta  int32 // last offset - first offset, and last sequence - first sequence
	lastOffset   kafka.Offset
	timestamp    kafka.Timestamp // the batch's max timestamp
}

func (m batchMeta) firstOffset() kafka.Offset { return m.lastOffset - kafka.Offset(m.offsetDelta) }

func (m batchMeta) firstSequence() int32 {
	switch {
	case m.lastSequence == record.NoSequence:
		return record.NoSequence
	case m.lastSequence < m.offsetDelta:
		return math.MaxInt32 - (m.offsetDelta - m.lastSequence) + 1
	}
	return m.lastSequence - m.offsetDelta
}

// producer is the state of one producer id. It lies in a slot of State.slots and is linked by slot numbers.
type producer struct {
	id               kafka.ProducerID
	txnFirst         kafka.Offset    // first offset of the open transaction, or NoOffset
	timestamp        kafka.Timestamp // max timestamp of the last batch or marker
	appended         kafka.Timestamp // when that was appended, by the broker's clock
	batches          [RememberedBatches]batchMeta
	coordinatorEpoch int32 // of the last marker, or -1
	prev, next       int32 // idle list, or next free slot
	epoch            kafka.ProducerEpoch
	known            uint8 // batches[:known] are set, oldest first, all of this epoch
}

func newProducer(id kafka.ProducerID) producer {
	return producer{
		id: id, epoch: kafka.NoProducerEpoch, txnFirst: kafka.NoOffset, timestamp: kafka.NoTimestamp,
		coordinatorEpoch: -1, prev: none, next: none,
	}
}

func (p *producer) last() (batchMeta, bool) {
	if p.known == 0 {
		return batchMeta{lastSequence: record.NoSequence, lastOffset: kafka.NoOffset}, false
	}
	return p.batches[p.known-1], true
}

func (p *producer) setEpoch(e kafka.ProducerEpoch) {
	if p.epoch != e {
		p.epoch, p.known = e, 0
	}
}

func (p *producer) add(m batchMeta) {
	if p.known == RememberedBatches {
		copy(p.batches[:], p.batches[1:])
		p.known--
	}
	p.batches[p.known] = m
	p.known++
}

// duplicateOf finds the remembered batch with these sequences.
func (p *producer) duplicateOf(b record.Batch) (batchMeta, bool) {
	if b.ProducerEpoch() != p.epoch || b.BaseSequence() == record.NoSequence {
		return batchMeta{}, false
	}
	first, last := b.BaseSequence(), b.LastSequence()
	for _, m := range p.batches[:p.known] {
		if m.lastSequence == last && m.firstSequence() == first {
			return m, true
		}
	}
	return batchMeta{}, false
}

// follows tells whether a batch of this epoch may start at sequence first.
func (p *producer) follows(epoch kafka.ProducerEpoch, first int32) bool {
	if epoch != p.epoch {
		return first == 0
	}
	m, ok := p.last()
	if !ok || m.lastSequence == record.NoSequence {
		return first == 0 // the epoch is known by a marker alone
	}
	return first == record.AddSequence(m.lastSequence, 1)
}
