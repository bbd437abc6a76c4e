package record

import (
	"encoding/binary"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Header is the parsed fixed part of a batch, for readers that have only its first [HeaderSize] bytes in memory:
// recovery and index look-ups in a segment file.
type Header struct {
	BaseOffset      kafka.Offset
	Size            int // bytes of the whole batch, header included: in [HeaderSize, MaxBatchBytes]
	LeaderEpoch     kafka.LeaderEpoch
	CRC             uint32
	Attributes      Attributes
	LastOffsetDelta int32
	BaseTimestamp   kafka.Timestamp
	MaxTimestamp    kafka.Timestamp
	ProducerID      kafka.ProducerID
	ProducerEpoch   kafka.ProducerEpoch
	BaseSequence    int32
	Count           int32
}

// LastOffset is the last offset that the batch covers.
func (h Header) LastOffset() kafka.Offset { return h.BaseOffset + kafka.Offset(h.LastOffsetDelta) }

// NextOffset is the offset after the batch.
func (h Header) NextOffset() kafka.Offset { return h.LastOffset() + 1 }

// ParseHeader reads the fixed part from at least [HeaderSize] bytes; the records may be absent. It refuses what [Next]
// refuses, with the same errors.
func ParseHeader(b []byte) (Header, error) {
	size, err := sizeOf(b)
	if err != nil {
		return Header{}, err
	}
	if len(b) < HeaderSize {
		return Header{}, errCut
	}
	v := Batch(b)
	return Header{
		BaseOffset: v.BaseOffset(), Size: size, LeaderEpoch: v.LeaderEpoch(), CRC: v.CRC(), Attributes: v.Attributes(),
		LastOffsetDelta: v.LastOffsetDelta(), BaseTimestamp: v.BaseTimestamp(), MaxTimestamp: v.MaxTimestamp(),
		ProducerID: v.ProducerID(), ProducerEpoch: v.ProducerEpoch(), BaseSequence: v.BaseSequence(), Count: v.Count(),
	}, nil
}

// Next cuts the first batch off b and checks its structure alone: the length, that the whole of it is there, the magic,
// and that the offsets it covers are a forward interval of non-negative numbers. Errors:
//   - io.EOF: b is empty.
//   - errors.Is(err, io.ErrUnexpectedEOF): b ends inside the batch. A fetch cut by its size ends so, and a torn write.
//   - errors.Is(err, [ErrCorrupt]): no batch of magic 2 starts here.
func Next(b []byte) (batch Batch, rest []byte, err error) {
	size, err := sizeOf(b)
	if err != nil {
		return nil, b, err
	}
	if len(b) < size {
		return nil, b, errCut
	}
	return Batch(b[:size:size]), b[size:], nil
}

// sizeOf judges as much of the header as is there.
func sizeOf(b []byte) (int, error) {
	switch {
	case len(b) == 0:
		return 0, errEmpty
	case len(b) < lengthEnd:
		return 0, errCut
	}
	// Length is signed in the format: a negative one must not turn into a huge size.
	length := int64(int32(binary.BigEndian.Uint32(b[atLength:])))
	if length < HeaderSize-lengthEnd || length > MaxBatchBytes-lengthEnd {
		// A batch of an older magic may be shorter than a header; say that rather than blame its length.
		if len(b) > atMagic && b[atMagic] < Magic && length >= 14 && length <= MaxBatchBytes-lengthEnd {
			return 0, errMagic(b[atMagic])
		}
		return 0, &CorruptError{Field: "length", Value: length, At: atLength}
	}
	if len(b) <= atMagic {
		return 0, errCut
	}
	if b[atMagic] != Magic {
		return 0, errMagic(b[atMagic])
	}
	if len(b) >= HeaderSize {
		v := Batch(b)
		base, delta := v.BaseOffset(), v.LastOffsetDelta()
		if delta < 0 {
			return 0, &CorruptError{Field: "last offset delta", Value: int64(delta), At: atLastOffsetDelta}
		}
		if base < 0 || v.NextOffset() < base {
			return 0, &CorruptError{Field: "base offset", Value: int64(base), At: atBaseOffset}
		}
		if n := v.Count(); n < 0 {
			return 0, &CorruptError{Field: "count of records", Value: int64(n), At: atCount}
		}
	}
	return int(length) + lengthEnd, nil
}
