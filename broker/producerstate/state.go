package producerstate

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// DefaultMaxProducers bounds the producers that one partition knows where the options do not say: about 25 MB of memory,
// and a producer id a second for a day and a half.
const DefaultMaxProducers = 1 << 17

// Options are a partition's settings.
type Options struct {
	MaxProducers int // 0: DefaultMaxProducers
}

// State is one partition's knowledge of its producers, exactly that of the log's batches in [.., End). Make one with
// [New]. Not for concurrent use. An idle State without producers holds no memory but itself.
type State struct {
	maxProducers int
	end          kafka.Offset
	start        kafka.Offset // log start: nothing below is unstable

	slots []producer
	byID  map[kafka.ProducerID]int32 // to slots; made on first use
	free  int32                      // first free slot, linked by next
	// Producers without an open transaction, in the order of their last append. Those with one are in no list.
	idleOldest, idleNewest int32

	open    []openTxn    // by first offset: each starts at the end of the log, so they are added in order
	decided []decidedTxn // by marker offset and by first offset: only those that can be the oldest unstable one
}

// none is the number of no slot.
const none int32 = -1

// New makes the state of an empty log that ends, and starts, at end.
func New(end kafka.Offset, o Options) *State {
	if o.MaxProducers <= 0 {
		o.MaxProducers = DefaultMaxProducers
	}
	s := &State{maxProducers: o.MaxProducers}
	s.Reset(end)
	return s
}

// Reset forgets everything: the log is empty and ends at end, or a snapshot at end follows.
func (s *State) Reset(end kafka.Offset) {
	*s = State{maxProducers: s.maxProducers, end: end, start: end, free: none, idleOldest: none, idleNewest: none}
}

// End is the offset up to which the state knows the log.
func (s *State) End() kafka.Offset { return s.end }

// Len is the number of producers known.
func (s *State) Len() int { return len(s.byID) }

// Producer is a producer as DescribeProducers and kafka-dump-log show it.
type Producer struct {
	ID               kafka.ProducerID
	Epoch            kafka.ProducerEpoch
	LastSequence     int32           // record.NoSequence: no batch of this epoch is known
	LastOffset       kafka.Offset    // kafka.NoOffset likewise
	LastTimestamp    kafka.Timestamp // of the last batch or marker
	Appended         kafka.Timestamp // when it was appended here
	CoordinatorEpoch int32           // of the last marker, -1: none
	TxnFirst         kafka.Offset    // first offset of the open transaction, kafka.NoOffset: none
}

// Producer gives one producer.
func (s *State) Producer(id kafka.ProducerID) (Producer, bool) {
	p := s.find(id)
	if p == nil {
		return Producer{}, false
	}
	return p.export(), true
}

// Producers lists all, by id. It is meant for answers to people: it sorts.
func (s *State) Producers() []Producer {
	out := make([]Producer, 0, len(s.byID))
	for i := range s.slots {
		if s.slots[i].id != kafka.NoProducerID {
			out = append(out, s.slots[i].export())
		}
	}
	slices.SortFunc(out, func(a, b Producer) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// InTxn tells whether the producer has an open transaction here.
func (s *State) InTxn(id kafka.ProducerID) bool {
	p := s.find(id)
	return p != nil && p.txnFirst != kafka.NoOffset
}

func (p *producer) export() Producer {
	m, _ := p.last()
	return Producer{
		ID: p.id, Epoch: p.epoch, LastSequence: m.lastSequence, LastOffset: m.lastOffset, LastTimestamp: p.timestamp,
		Appended: p.appended, CoordinatorEpoch: p.coordinatorEpoch, TxnFirst: p.txnFirst,
	}
}

func (s *State) find(id kafka.ProducerID) *producer {
	if i, ok := s.byID[id]; ok {
		return &s.slots[i]
	}
	return nil
}

// Update takes note of a batch that is now in the log at b.BaseOffset(), appended at now by the broker's clock (in
// recovery, where that time is lost, the time of recovery). Batches come in the order of the log, each once, those
// without a producer too. Of a data batch only the first [record.HeaderSize] bytes are looked at; a control batch must
// be whole. If the batch ends a transaction that had records here, ok is true and the transaction belongs into the
// transaction index if it was aborted.
func (s *State) Update(b record.Batch, now kafka.Timestamp) (txn CompletedTxn, ok bool) {
	s.end = b.NextOffset()
	if !b.HasProducer() {
		return CompletedTxn{}, false
	}
	if b.IsControl() {
		return s.updateMarker(b, now)
	}
	i := s.slot(b.ProducerID())
	p := &s.slots[i]
	p.setEpoch(b.ProducerEpoch())
	p.add(batchMeta{lastSequence: b.LastSequence(), offsetDelta: b.LastOffsetDelta(), lastOffset: b.LastOffset(), timestamp: b.MaxTimestamp()})
	p.timestamp, p.appended = b.MaxTimestamp(), now
	if b.IsTransactional() && p.txnFirst == kafka.NoOffset {
		p.txnFirst = b.BaseOffset()
		s.open = append(s.open, openTxn{producer: p.id, first: p.txnFirst})
	}
	s.relink(i)
	return CompletedTxn{}, false
}

func (s *State) updateMarker(b record.Batch, now kafka.Timestamp) (txn CompletedTxn, ok bool) {
	m, ok, err := b.EndTxn()
	if !ok || err != nil {
		// Emptied by compaction, or a kind that ends nothing. A malformed marker is refused by Check, by followers too.
		return CompletedTxn{}, false
	}
	i := s.slot(b.ProducerID())
	p := &s.slots[i]
	first := p.txnFirst
	p.setEpoch(m.ProducerEpoch)
	p.coordinatorEpoch, p.timestamp, p.appended, p.txnFirst = m.CoordinatorEpoch, m.Timestamp, now, kafka.NoOffset
	s.relink(i)
	if first == kafka.NoOffset {
		return CompletedTxn{}, false
	}
	return s.complete(m, first, b.BaseOffset()), true
}
