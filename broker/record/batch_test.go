package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// encode lets kmsg, which knows nothing of this package, write the batch; length and CRC are filled in here.
func encode(rb kmsg.RecordBatch) []byte {
	raw := rb.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crcOf(raw[21:]))
	return raw
}

func sample() kmsg.RecordBatch {
	return kmsg.RecordBatch{
		FirstOffset: 1 << 40, PartitionLeaderEpoch: 7, Magic: 2, Attributes: 0x10 | 0x08, LastOffsetDelta: 4,
		FirstTimestamp: 1_700_000_000_000, MaxTimestamp: 1_700_000_000_123, ProducerID: 1 << 50, ProducerEpoch: 12,
		FirstSequence: 1<<31 - 3, NumRecords: 5, Records: []byte("records"),
	}
}

func TestAccessorsAgreeWithKmsg(t *testing.T) {
	rb := sample()
	b, rest, err := record.Next(append(encode(rb), 'x'))
	if err != nil || string(rest) != "x" {
		t.Fatalf("Next: rest %q, error %v", rest, err)
	}
	h, err := record.ParseHeader(b[:record.HeaderSize])
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	check("BaseOffset", b.BaseOffset(), kafka.Offset(rb.FirstOffset))
	check("LastOffset", b.LastOffset(), kafka.Offset(rb.FirstOffset+4))
	check("NextOffset", b.NextOffset(), kafka.Offset(rb.FirstOffset+5))
	check("LeaderEpoch", b.LeaderEpoch(), kafka.LeaderEpoch(7))
	check("Codec", b.Codec(), record.None)
	check("TimestampType", b.TimestampType(), record.LogAppendTime)
	check("IsTransactional", b.IsTransactional(), true)
	check("IsControl", b.IsControl(), false)
	check("BaseTimestamp", b.BaseTimestamp(), kafka.Timestamp(rb.FirstTimestamp))
	check("MaxTimestamp", b.MaxTimestamp(), kafka.Timestamp(rb.MaxTimestamp))
	check("ProducerID", b.ProducerID(), kafka.ProducerID(rb.ProducerID))
	check("ProducerEpoch", b.ProducerEpoch(), kafka.ProducerEpoch(12))
	check("BaseSequence", b.BaseSequence(), rb.FirstSequence)
	check("LastSequence wraps", b.LastSequence(), int32(1))
	check("Count", b.Count(), int32(5))
	check("CheckCRC", b.CheckCRC(), true)
	check("Header.Size", h.Size, len(b))
	check("Header", h, record.Header{
		BaseOffset: b.BaseOffset(), Size: len(b), LeaderEpoch: 7, CRC: b.CRC(), Attributes: b.Attributes(), LastOffsetDelta: 4,
		BaseTimestamp: b.BaseTimestamp(), MaxTimestamp: b.MaxTimestamp(), ProducerID: b.ProducerID(), ProducerEpoch: 12,
		BaseSequence: b.BaseSequence(), Count: 5,
	})
}

func TestSettersTouchNothingElse(t *testing.T) {
	raw := encode(sample())
	b := record.Batch(bytes.Clone(raw))
	b.SetBaseOffset(42)
	b.SetLeaderEpoch(9)
	want := bytes.Clone(raw)
	binary.BigEndian.PutUint64(want, 42)
	binary.BigEndian.PutUint32(want[12:], 9)
	if !bytes.Equal(b, want) || !b.CheckCRC() {
		t.Error("offset and epoch must be all that changed, and the CRC must still hold")
	}

	plain := sample()
	plain.Attributes = 0x10
	raw = encode(plain)
	b = record.Batch(bytes.Clone(raw))
	b.SetLogAppendTime(77)
	plain.Attributes, plain.MaxTimestamp = 0x18, 77
	if !bytes.Equal(b, encode(plain)) {
		t.Error("LogAppendTime must change attributes, maxTimestamp and CRC alone")
	}
}

func TestNextNamesWhatIsWrong(t *testing.T) {
	spoil := func(at int, v ...byte) []byte {
		raw := encode(sample())
		copy(raw[at:], v)
		return raw
	}
	good := encode(sample())
	for _, c := range []struct {
		name string
		in   []byte
		want error
	}{
		{"nothing", nil, io.EOF},
		{"one byte", good[:1], io.ErrUnexpectedEOF},
		{"cut in the header", good[:60], io.ErrUnexpectedEOF},
		{"one byte short", good[:len(good)-1], io.ErrUnexpectedEOF},
		{"negative length", spoil(8, 0xff, 0xff, 0xff, 0xff), record.ErrCorrupt},
		{"length 0", spoil(8, 0, 0, 0, 0), record.ErrCorrupt},
		{"length below a header", spoil(8, 0, 0, 0, 48), record.ErrCorrupt},
		{"length beyond the limit", spoil(8, 0x7f, 0xff, 0xff, 0xff), record.ErrCorrupt},
		{"magic 1", spoil(16, 1), record.ErrMagic},
		{"magic 3", spoil(16, 3), record.ErrMagic},
		{"negative base offset", spoil(0, 0xff), record.ErrCorrupt},
		{"last offset beyond int64", spoil(0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), record.ErrCorrupt},
		{"negative last offset delta", spoil(23, 0xff), record.ErrCorrupt},
		{"negative count", spoil(57, 0xff), record.ErrCorrupt},
	} {
		b, rest, err := record.Next(c.in)
		if !errors.Is(err, c.want) || b != nil || len(rest) != len(c.in) {
			t.Errorf("%s: batch of %d bytes, error %v, want %v and nothing consumed", c.name, len(b), err, c.want)
		}
		if len(c.in) >= record.HeaderSize && len(c.in) == len(good) {
			if _, err := record.ParseHeader(c.in[:record.HeaderSize]); !errors.Is(err, c.want) {
				t.Errorf("%s: ParseHeader gives %v, want %v", c.name, err, c.want)
			}
		}
	}
}

func TestAddSequenceWraps(t *testing.T) {
	for _, c := range [][3]int32{{0, 0, 0}, {0, 5, 5}, {1<<31 - 1, 0, 1<<31 - 1}, {1<<31 - 1, 1, 0}, {1<<31 - 2, 3, 1}} {
		if got := record.AddSequence(c[0], c[1]); got != c[2] {
			t.Errorf("AddSequence(%d, %d) = %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

func crcOf(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
