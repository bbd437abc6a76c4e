package record_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// The corrected checksum of large batches must be the one computed over all bytes.
func TestChecksumIsCorrectedForAnySize(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 5))
	for i := range 400 {
		value := make([]byte, rnd.IntN(1<<(4+rnd.IntN(15))))
		for j := range value {
			value[j] = byte(rnd.IntN(256))
		}
		b := record.Batch(sent(t, record.None, []rec{{ts: rnd.Int64(), value: value}}, nil))
		before := bytes.Clone(b)
		ts := kafka.Timestamp(rnd.Uint64())
		b.SetLogAppendTime(ts)
		if !b.CheckCRC() || b.MaxTimestamp() != ts || b.TimestampType() != record.LogAppendTime {
			t.Fatalf("seed %d, batch %d of %d bytes: checksum %08x is not that of its bytes", seed, i, len(b), b.CRC())
		}
		if !bytes.Equal(b[43:], before[43:]) || !bytes.Equal(b[:17], before[:17]) {
			t.Fatalf("seed %d: more than the header's time changed", seed)
		}
	}
}

func BenchmarkSetLogAppendTime(b *testing.B) {
	raw := record.Batch(batchOf(b, record.None, 1024))
	i := kafka.Timestamp(0)
	b.ReportAllocs()
	for b.Loop() {
		i++
		raw.SetLogAppendTime(now + i)
	}
}
