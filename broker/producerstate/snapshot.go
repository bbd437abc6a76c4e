package producerstate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// ErrCorrupt is the kind of every error of [State.LoadSnapshot]. The caller adds the file's name and goes on with an
// older snapshot, or with the log from its start.
var ErrCorrupt = errors.New("corrupt producer snapshot")

// Kafka's part of a snapshot, big-endian:
//
//	int16 version 1 | uint32 CRC-32C of everything after it | int32 count | count times 46 bytes:
//	int64 id | int16 epoch | int32 last sequence | int64 last offset | int32 offset delta | int64 timestamp |
//	int32 coordinator epoch | int64 first offset of the open transaction (-1: none)
//
// It holds one batch for each producer. Kafka reads count entries and does not look beyond, though the CRC covers all of
// the file; so ours follows, under the same CRC and in the same atomic write:
//
//	int32 "FLPS" | int16 version 1 | for each producer, in the same order:
//	  int64 time of the last append | int8 n | n older batches, oldest first:
//	    int32 last sequence | int64 last offset | int32 offset delta | int64 timestamp
//	int32 count of decided transactions whose marker was above the high watermark | each: int64 first offset | int64 marker's offset
//
// A snapshot without this part, which Kafka wrote, is read too: the producers count as appended to when it is loaded.
const (
	snapshotVersion = 1
	snapshotCRC     = 2 // position of the CRC, which covers the bytes from 4 bytes later
	snapshotCount   = 6
	snapshotEntries = 10
	snapshotEntry   = 46

	tailMagic   = 0x464c5053 // "FLPS"
	tailVersion = 1
	tailBatch   = 24
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // never written after start

// AppendSnapshot appends the state as the bytes of the file <End>.snapshot. Producers come in the order of their last
// append, those with an open transaction last and in the order of their first offsets, so the same state gives the
// same bytes.
func (s *State) AppendSnapshot(dst []byte) []byte {
	start := len(dst)
	be := binary.BigEndian
	dst = be.AppendUint16(dst, snapshotVersion)
	dst = be.AppendUint32(dst, 0)
	dst = be.AppendUint32(dst, uint32(len(s.byID)))
	s.each(func(p *producer) { dst = p.appendEntry(dst) })
	dst = be.AppendUint32(dst, tailMagic)
	dst = be.AppendUint16(dst, tailVersion)
	s.each(func(p *producer) { dst = p.appendTail(dst) })
	dst = be.AppendUint32(dst, uint32(len(s.decided)))
	for _, t := range s.decided {
		dst = be.AppendUint64(dst, uint64(t.first))
		dst = be.AppendUint64(dst, uint64(t.marker))
	}
	be.PutUint32(dst[start+snapshotCRC:], crc32.Checksum(dst[start+snapshotCount:], castagnoli))
	return dst
}

func (s *State) each(f func(*producer)) {
	for i := s.idleOldest; i != none; i = s.slots[i].next {
		f(&s.slots[i])
	}
	for _, t := range s.open {
		f(s.find(t.producer))
	}
}

func (p *producer) appendEntry(dst []byte) []byte {
	be := binary.BigEndian
	m, _ := p.last()
	dst = be.AppendUint64(dst, uint64(p.id))
	dst = be.AppendUint16(dst, uint16(p.epoch))
	dst = be.AppendUint32(dst, uint32(m.lastSequence))
	dst = be.AppendUint64(dst, uint64(m.lastOffset))
	dst = be.AppendUint32(dst, uint32(m.offsetDelta))
	dst = be.AppendUint64(dst, uint64(p.timestamp))
	dst = be.AppendUint32(dst, uint32(p.coordinatorEpoch))
	return be.AppendUint64(dst, uint64(p.txnFirst))
}

func (p *producer) appendTail(dst []byte) []byte {
	be := binary.BigEndian
	dst = be.AppendUint64(dst, uint64(p.appended))
	older := p.batches[:max(int(p.known)-1, 0)]
	dst = append(dst, byte(len(older)))
	for _, m := range older {
		dst = be.AppendUint32(dst, uint32(m.lastSequence))
		dst = be.AppendUint64(dst, uint64(m.lastOffset))
		dst = be.AppendUint32(dst, uint32(m.offsetDelta))
		dst = be.AppendUint64(dst, uint64(m.timestamp))
	}
	return dst
}

// LoadSnapshot replaces the state by that of a snapshot whose file name says end, at the time now. On an error, which is
// [ErrCorrupt], the state is as before.
func (s *State) LoadSnapshot(data []byte, end kafka.Offset, now kafka.Timestamp) error {
	next := New(end, Options{MaxProducers: s.maxProducers})
	next.start = 0 // the log may start long before its snapshots; AdvanceStart tells
	if err := next.load(data, now); err != nil {
		return err
	}
	*s = *next
	return nil
}

func (s *State) load(data []byte, now kafka.Timestamp) error {
	be := binary.BigEndian
	if len(data) < snapshotEntries {
		return fmt.Errorf("%w: %d bytes", ErrCorrupt, len(data))
	}
	if v := be.Uint16(data); v != snapshotVersion {
		return fmt.Errorf("%w: version %d", ErrCorrupt, v)
	}
	if got, want := crc32.Checksum(data[snapshotCount:], castagnoli), be.Uint32(data[snapshotCRC:]); got != want {
		return fmt.Errorf("%w: CRC is %08x, want %08x", ErrCorrupt, got, want)
	}
	count := int64(int32(be.Uint32(data[snapshotCount:])))
	if count < 0 || count > int64(len(data)-snapshotEntries)/snapshotEntry {
		return fmt.Errorf("%w: %d producers in %d bytes", ErrCorrupt, count, len(data))
	}
	tail := data[snapshotEntries+int(count)*snapshotEntry:]
	ours := len(tail) >= 6 && be.Uint32(tail) == tailMagic && be.Uint16(tail[4:]) == tailVersion
	if ours {
		tail = tail[6:]
	}
	for i := range int(count) {
		p, err := parseEntry(data[snapshotEntries+i*snapshotEntry:], s.end)
		if err != nil {
			return err
		}
		p.appended = now
		if ours {
			if tail, err = p.parseTail(tail, now); err != nil {
				return err
			}
		}
		if err := s.insert(p); err != nil {
			return err
		}
	}
	if err := s.sortOpen(); err != nil {
		return err
	}
	if ours {
		return s.parseDecided(tail)
	}
	return nil
}
