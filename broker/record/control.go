package record

import (
	"encoding/binary"
	"fmt"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// ControlType is what a control record says.
type ControlType int16

const (
	ControlAbort          ControlType = 0
	ControlCommit         ControlType = 1
	ControlLeaderChange   ControlType = 2
	ControlSnapshotHeader ControlType = 3
	ControlSnapshotFooter ControlType = 4
	ControlKRaftVersion   ControlType = 5
	ControlKRaftVoters    ControlType = 6
)

// String is Kafka's name of the type.
func (t ControlType) String() string {
	names := [...]string{"ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS"}
	if t < 0 || int(t) >= len(names) {
		return "UNKNOWN"
	}
	return names[t]
}

// EndTxnMarker is the end of one transaction in one partition: the only record of a control batch that is transactional
// too. Key: int16 version 0, int16 type. Value: int16 version 0, int32 coordinatorEpoch.
type EndTxnMarker struct {
	ProducerID       kafka.ProducerID
	ProducerEpoch    kafka.ProducerEpoch // of the data; with transactions of version 2, of the data + 1
	Commit           bool
	CoordinatorEpoch int32 // leader epoch of the coordinator's partition: a lower one than seen before is a zombie's
	Timestamp        kafka.Timestamp
}

// Type is the marker's control type.
func (m EndTxnMarker) Type() ControlType {
	if m.Commit {
		return ControlCommit
	}
	return ControlAbort
}

// Batch is the control batch, at offset 0, as the transaction coordinator writes it into every partition.
func (m EndTxnMarker) Batch() Batch {
	key := [4]byte{3: byte(m.Type())}
	var value [6]byte
	binary.BigEndian.PutUint32(value[2:], uint32(m.CoordinatorEpoch))
	b := NewBuilder(BuilderOptions{
		ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch, BaseSequence: NoSequence,
		Idempotent: true, Transactional: true, Control: true,
	})
	b.Add(m.Timestamp, key[:], value[:])
	batch, err := b.Build()
	if err != nil {
		panic(fmt.Sprintf("bug: an end-of-transaction marker of two small fields: %v", err))
	}
	return batch
}

// ControlKind is the type of a control batch's first record. ok is false when compaction has emptied the batch: its
// transaction is gone from the log altogether. The error is [ErrCorrupt].
func (b Batch) ControlKind() (kind ControlType, ok bool, err error) {
	r, ok, err := b.controlRecord()
	if !ok || err != nil {
		return 0, false, err
	}
	kind, err = controlType(r.Key)
	return kind, err == nil, err
}

// EndTxn reads the marker of a control batch. ok is false when the batch is of another control type or was emptied by
// compaction. The error is [ErrCorrupt].
func (b Batch) EndTxn() (m EndTxnMarker, ok bool, err error) {
	r, ok, err := b.controlRecord()
	if !ok || err != nil {
		return EndTxnMarker{}, false, err
	}
	kind, err := controlType(r.Key)
	if err != nil || kind != ControlAbort && kind != ControlCommit {
		return EndTxnMarker{}, false, err
	}
	// A later version may add fields after these.
	if len(r.Value) < 6 || int16(binary.BigEndian.Uint16(r.Value)) < 0 {
		return EndTxnMarker{}, false, &CorruptError{Field: "length of an end-of-transaction marker", Value: int64(len(r.Value)), At: HeaderSize}
	}
	return EndTxnMarker{
		ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), Commit: kind == ControlCommit,
		CoordinatorEpoch: int32(binary.BigEndian.Uint32(r.Value[2:])), Timestamp: r.Timestamp,
	}, true, nil
}

// maxControlBytes bounds the records of a control batch, which nobody compresses; its slices may outlive the iterator
// because an uncompressed batch is viewed, not copied.
const maxControlBytes = 1 << 20

func (b Batch) controlRecord() (r Record, ok bool, err error) {
	if !b.IsControl() {
		return Record{}, false, nil
	}
	if b.Codec() != None {
		return Record{}, false, &CorruptError{Field: "codec of a control batch", Value: int64(b.Codec()), At: atAttributes}
	}
	it := b.Records(maxControlBytes)
	if !it.Next() {
		return Record{}, false, it.Err()
	}
	return it.rec, true, nil
}

func controlType(key []byte) (ControlType, error) {
	if len(key) < 4 || int16(binary.BigEndian.Uint16(key)) < 0 {
		return 0, &CorruptError{Field: "length of a control record's key", Value: int64(len(key)), At: HeaderSize}
	}
	return ControlType(binary.BigEndian.Uint16(key[2:])), nil
}
