package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// The encoding of a list of records, as it stands in a log entry and in a snapshot. Integers are varints (signed ones
// zigzag), strings and lists have their length before them.
//
//	format     1 byte, formatVersion
//	records    each: type (1 byte), version (1 byte), body length (uvarint), body
//
// A body of a higher version than this binary knows is refused, since what it says must not be missed: a feature level
// keeps it from being written while an older broker is in the cluster. Within a version nothing changes.
const formatVersion = 1

// ErrCorrupt marks records that cannot be read.
var ErrCorrupt = errors.New("corrupt metadata records")

type recordType byte

// recordTypes is the table of the records: their number in the log, their version, and an empty one to decode into.
// Numbers are never given twice.
var recordTypes = [...]struct {
	version byte
	empty   func() body
}{
	typeCluster:         {0, func() body { return new(ClusterRecord) }},
	typeFeature:         {0, func() body { return new(FeatureRecord) }},
	typeRegister:        {0, func() body { return new(RegisterBroker) }},
	typeBrokerChange:    {0, func() body { return new(BrokerChange) }},
	typeUnregister:      {0, func() body { return new(UnregisterBroker) }},
	typeTopic:           {0, func() body { return new(TopicRecord) }},
	typeRemoveTopic:     {0, func() body { return new(RemoveTopic) }},
	typePartition:       {0, func() body { return new(PartitionRecord) }},
	typePartitionChange: {0, func() body { return new(PartitionChange) }},
	typeConfig:          {0, func() body { return new(ConfigRecord) }},
	typeProducerIDs:     {0, func() body { return new(ProducerIDsRecord) }},
	typeBrokerEpoch:     {0, func() body { return new(BrokerEpochRecord) }},
}

const (
	typeCluster recordType = 1 + iota
	typeFeature
	typeRegister
	typeBrokerChange
	typeUnregister
	typeTopic
	typeRemoveTopic
	typePartition
	typePartitionChange
	typeConfig
	typeProducerIDs
	typeBrokerEpoch
)

// body is a record that can be encoded. code runs the fields through a coder, the same way in both directions, so that
// the two cannot differ.
type body interface {
	Record
	code(*coder)
}

func (*ClusterRecord) recordType() recordType     { return typeCluster }
func (*FeatureRecord) recordType() recordType     { return typeFeature }
func (*RegisterBroker) recordType() recordType    { return typeRegister }
func (*BrokerChange) recordType() recordType      { return typeBrokerChange }
func (*UnregisterBroker) recordType() recordType  { return typeUnregister }
func (*TopicRecord) recordType() recordType       { return typeTopic }
func (*RemoveTopic) recordType() recordType       { return typeRemoveTopic }
func (*PartitionRecord) recordType() recordType   { return typePartition }
func (*PartitionChange) recordType() recordType   { return typePartitionChange }
func (*ConfigRecord) recordType() recordType      { return typeConfig }
func (*ProducerIDsRecord) recordType() recordType { return typeProducerIDs }
func (*BrokerEpochRecord) recordType() recordType { return typeBrokerEpoch }

// EncodeRecords appends the encoding of a list of records to dst.
func EncodeRecords(dst []byte, records []Record) []byte {
	dst = append(dst, formatVersion)
	var c coder
	for _, r := range records {
		b := r.(body)
		c.buf = c.buf[:0]
		b.code(&c)
		dst = append(dst, byte(r.recordType()), recordTypes[r.recordType()].version)
		dst = binary.AppendUvarint(dst, uint64(len(c.buf)))
		dst = append(dst, c.buf...)
	}
	return dst
}

// DecodeRecords reads what EncodeRecords wrote. The records keep nothing of b.
func DecodeRecords(b []byte) ([]Record, error) {
	if len(b) == 0 || b[0] != formatVersion {
		return nil, fmt.Errorf("decode metadata records: %w: unknown format", ErrCorrupt)
	}
	var records []Record
	for at := 1; at < len(b); {
		r, n, err := decodeRecord(b[at:])
		if err != nil {
			return nil, fmt.Errorf("decode metadata record %d at byte %d: %w", len(records), at, err)
		}
		records = append(records, r)
		at += n
	}
	return records, nil
}

func decodeRecord(b []byte) (Record, int, error) {
	if len(b) < 2 {
		return nil, 0, fmt.Errorf("%w: cut short", ErrCorrupt)
	}
	kind, version := b[0], b[1]
	if int(kind) >= len(recordTypes) || recordTypes[kind].empty == nil || version > recordTypes[kind].version {
		return nil, 0, fmt.Errorf("%w: type %d version %d is not known here", ErrCorrupt, kind, version)
	}
	size, n := binary.Uvarint(b[2:])
	if n <= 0 || size > uint64(len(b)-2-n) {
		return nil, 0, fmt.Errorf("%w: cut short", ErrCorrupt)
	}
	end := 2 + n + int(size)
	r := recordTypes[kind].empty()
	c := coder{decoding: true, buf: b[2+n : end]}
	r.code(&c)
	if c.bad || len(c.buf) > 0 {
		return nil, 0, fmt.Errorf("%w: type %d does not fit its length", ErrCorrupt, kind)
	}
	return r, end, nil
}

// coder reads or writes fields: written bytes are appended to buf, read ones taken from its front. A read past the end
// sets bad and gives zero values from then on.
type coder struct {
	decoding bool
	bad      bool
	buf      []byte
}

func (c *coder) fail() { c.bad, c.buf = true, nil }

func (c *coder) uint(v *uint64) {
	if !c.decoding {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	x, n := binary.Uvarint(c.buf)
	if n <= 0 {
		c.fail()
		return
	}
	*v, c.buf = x, c.buf[n:]
}

// integer codes any signed integer; a value that does not fit its type is corrupt.
func integer[T ~int8 | ~int16 | ~int32 | ~int64](c *coder, v *T) {
	if !c.decoding {
		c.buf = binary.AppendVarint(c.buf, int64(*v))
		return
	}
	x, n := binary.Varint(c.buf)
	if n <= 0 || int64(T(x)) != x {
		c.fail()
		return
	}
	*v, c.buf = T(x), c.buf[n:]
}

func (c *coder) bool(v *bool) {
	b := byte(0)
	if *v {
		b = 1
	}
	c.byte(&b)
	if b > 1 {
		c.fail()
	}
	*v = b == 1
}

func (c *coder) byte(v *byte) {
	if !c.decoding {
		c.buf = append(c.buf, *v)
		return
	}
	if len(c.buf) == 0 {
		c.fail()
		return
	}
	*v, c.buf = c.buf[0], c.buf[1:]
}

func (c *coder) uuid(v *[16]byte) {
	if !c.decoding {
		c.buf = append(c.buf, v[:]...)
		return
	}
	if len(c.buf) < len(v) {
		c.fail()
		return
	}
	c.buf = c.buf[copy(v[:], c.buf):]
}

func (c *coder) string(v *string) {
	n := uint64(len(*v))
	c.uint(&n)
	if !c.decoding {
		c.buf = append(c.buf, *v...)
		return
	}
	if n > uint64(len(c.buf)) {
		c.fail()
		return
	}
	*v, c.buf = string(c.buf[:n]), c.buf[n:]
}

// list codes a list; every element takes at least one byte, which bounds what a false length can ask for.
func list[T any](c *coder, v *[]T, element func(*T)) {
	n := uint64(len(*v))
	c.uint(&n)
	if c.decoding {
		if n > uint64(len(c.buf)) {
			c.fail()
			return
		}
		*v = nil
		if n > 0 {
			*v = make([]T, n)
		}
	}
	for i := range *v {
		element(&(*v)[i])
	}
}

func (c *coder) nodes(v *[]kafka.NodeID) { list(c, v, func(n *kafka.NodeID) { integer(c, n) }) }
