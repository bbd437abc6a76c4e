package producerstate

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// parseEntry reads Kafka's part of one producer; b is long enough. Offsets must lie below the snapshot's own.
func parseEntry(b []byte, end kafka.Offset) (producer, error) {
	be := binary.BigEndian
	p := newProducer(kafka.ProducerID(be.Uint64(b)))
	p.epoch = kafka.ProducerEpoch(be.Uint16(b[8:]))
	m := batchMeta{
		lastSequence: int32(be.Uint32(b[10:])), lastOffset: kafka.Offset(be.Uint64(b[14:])),
		offsetDelta: int32(be.Uint32(b[22:])), timestamp: kafka.Timestamp(be.Uint64(b[26:])),
	}
	p.timestamp = m.timestamp
	p.coordinatorEpoch = int32(be.Uint32(b[34:]))
	p.txnFirst = max(kafka.Offset(be.Uint64(b[38:])), kafka.NoOffset)
	if p.id < 0 || p.txnFirst >= end {
		return p, fmt.Errorf("%w: producer %d with a transaction from offset %d in a snapshot at %d", ErrCorrupt, p.id, p.txnFirst, end)
	}
	if m.lastOffset < 0 {
		return p, nil // known by a marker alone
	}
	if err := m.valid(end); err != nil {
		return p, fmt.Errorf("%w: producer %d: %w", ErrCorrupt, p.id, err)
	}
	p.add(m)
	return p, nil
}

func (m batchMeta) valid(end kafka.Offset) error {
	if m.lastSequence < record.NoSequence || m.offsetDelta < 0 || m.lastOffset >= end || m.firstOffset() < 0 {
		return fmt.Errorf("batch up to sequence %d and offset %d with delta %d in a snapshot at %d", m.lastSequence, m.lastOffset, m.offsetDelta, end)
	}
	return nil
}

// parseTail reads our part of the producer whose last batch is known already, and returns what follows.
func (p *producer) parseTail(b []byte, now kafka.Timestamp) ([]byte, error) {
	be := binary.BigEndian
	if len(b) < 9 || b[8] >= RememberedBatches || len(b) < 9+int(b[8])*tailBatch || b[8] > 0 && p.known == 0 {
		return nil, fmt.Errorf("%w: older batches of producer %d", ErrCorrupt, p.id)
	}
	// A clock that was ahead must not keep the producer for ever.
	p.appended = min(kafka.Timestamp(be.Uint64(b)), now)
	n := int(b[8])
	b = b[9:]
	last, hasLast := p.last()
	p.known = 0
	before := kafka.NoOffset
	for range n {
		m := batchMeta{
			lastSequence: int32(be.Uint32(b)), lastOffset: kafka.Offset(be.Uint64(b[4:])),
			offsetDelta: int32(be.Uint32(b[12:])), timestamp: kafka.Timestamp(be.Uint64(b[16:])),
		}
		if err := m.valid(last.firstOffset()); err != nil || m.firstOffset() <= before {
			return nil, fmt.Errorf("%w: older batches of producer %d: offsets do not rise", ErrCorrupt, p.id)
		}
		before = m.lastOffset
		p.add(m)
		b = b[tailBatch:]
	}
	if hasLast {
		p.add(last)
	}
	return b, nil
}

func (s *State) parseDecided(b []byte) error {
	be := binary.BigEndian
	if len(b) < 4 {
		return fmt.Errorf("%w: no count of decided transactions", ErrCorrupt)
	}
	n := int64(be.Uint32(b))
	b = b[4:]
	if n*16 != int64(len(b)) {
		return fmt.Errorf("%w: %d decided transactions in %d bytes", ErrCorrupt, n, len(b))
	}
	before := decidedTxn{first: kafka.NoOffset, marker: kafka.NoOffset}
	for ; len(b) > 0; b = b[16:] {
		t := decidedTxn{first: kafka.Offset(be.Uint64(b)), marker: kafka.Offset(be.Uint64(b[8:]))}
		if t.first <= before.first || t.first >= t.marker || t.marker <= before.marker || t.marker >= s.end {
			return fmt.Errorf("%w: decided transaction from %d with its marker at %d", ErrCorrupt, t.first, t.marker)
		}
		before = t
		s.decided = append(s.decided, t)
	}
	return nil
}

// insert takes a producer over as the newest one.
func (s *State) insert(p producer) error {
	if _, ok := s.byID[p.id]; ok {
		return fmt.Errorf("%w: producer %d comes twice", ErrCorrupt, p.id)
	}
	i := s.slot(p.id)
	p.prev, p.next = s.slots[i].prev, s.slots[i].next
	s.slots[i] = p
	if p.txnFirst != kafka.NoOffset {
		s.unlink(i)
		s.open = append(s.open, openTxn{producer: p.id, first: p.txnFirst})
	}
	return nil
}

func (s *State) sortOpen() error {
	slices.SortFunc(s.open, func(a, b openTxn) int { return cmp.Compare(a.first, b.first) })
	for i := 1; i < len(s.open); i++ {
		if s.open[i].first == s.open[i-1].first {
			return fmt.Errorf("%w: two transactions start at offset %d", ErrCorrupt, s.open[i].first)
		}
	}
	return nil
}
