package producerstate

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// Origin tells who made a batch, and so what is to be checked.
type Origin uint8

const (
	Client      Origin = iota // everything is checked
	Coordinator               // a coordinator of this broker: no sequences; it alone may write markers
	Replication               // copied from the leader, which has checked it: only that a marker can be read
)

// Duplicate is the answer that a batch got when it was first stored.
type Duplicate struct {
	BaseOffset, LastOffset kafka.Offset
	Timestamp              kafka.Timestamp // its max timestamp, which is the append time where the topic says so
}

// Check tells whether the batch may be appended now, and changes nothing. A duplicate is not appended: it is answered
// with dup, and code is [kafka.None]. It allocates only for duplicates.
//
//	InvalidProducerEpoch          a newer incarnation of the producer has written here
//	OutOfOrderSequenceNumber      a gap, or a repetition of something no longer remembered
//	InvalidTxnState               a plain batch of a producer whose transaction is open
//	TransactionCoordinatorFenced  a marker of a coordinator that has been replaced
//	CorruptMessage                a marker that cannot be read
//	ThrottlingQuotaExceeded       a new producer, while MaxProducers have open transactions; clients retry
func (s *State) Check(b record.Batch, origin Origin) (dup *Duplicate, code kafka.ErrorCode) {
	if !b.HasProducer() {
		return nil, kafka.None
	}
	if b.IsControl() {
		return nil, s.checkMarker(b, origin)
	}
	if origin == Replication {
		return nil, kafka.None
	}
	p := s.find(b.ProducerID())
	if p == nil {
		if len(s.open) >= s.maxProducers {
			return nil, kafka.ThrottlingQuotaExceeded
		}
		return nil, kafka.None
	}
	if origin == Client {
		if m, ok := p.duplicateOf(b); ok {
			return &Duplicate{BaseOffset: m.firstOffset(), LastOffset: m.lastOffset, Timestamp: m.timestamp}, kafka.None
		}
	}
	switch {
	case b.ProducerEpoch() < p.epoch:
		return nil, kafka.InvalidProducerEpoch
	case origin == Client && !p.follows(b.ProducerEpoch(), b.BaseSequence()):
		return nil, kafka.OutOfOrderSequenceNumber
	case p.txnFirst != kafka.NoOffset && !b.IsTransactional():
		return nil, kafka.InvalidTxnState
	}
	return nil, kafka.None
}

func (s *State) checkMarker(b record.Batch, origin Origin) kafka.ErrorCode {
	m, ok, err := b.EndTxn()
	switch {
	case err != nil:
		return kafka.CorruptMessage
	case !ok || origin == Replication:
		return kafka.None
	}
	p := s.find(b.ProducerID())
	switch {
	case p == nil:
		return kafka.None
	case m.ProducerEpoch < p.epoch:
		return kafka.InvalidProducerEpoch
	case m.CoordinatorEpoch < p.coordinatorEpoch:
		return kafka.TransactionCoordinatorFenced
	}
	return kafka.None
}
