package record_test

import (
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
)

// batchOf makes a batch of about 64 KB from records of this size.
func batchOf(t testing.TB, codec record.Codec, recordBytes int) []byte {
	rs := make([]rec, 64<<10/recordBytes)
	for i := range rs {
		v := make([]byte, recordBytes-10)
		for j := range v {
			v[j] = byte(i*j>>3) ^ byte(j)
		}
		rs[i] = rec{ts: now + int64(i%3), key: []byte(fmt.Sprintf("%06d", i)), value: v}
	}
	return sent(t, codec, rs, nil)
}

// BenchmarkValidateProduce beside the bare checksum, which is the least that any leader does.
func BenchmarkValidateProduce(b *testing.B) {
	table := crc32.MakeTable(crc32.Castagnoli)
	for _, size := range []int{1024, 100} {
		raw := batchOf(b, record.None, size)
		b.Run(fmt.Sprintf("crc alone, %d B records", size), func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if crc32.Checksum(raw[21:], table) == 0 {
					b.Fatal("wrong")
				}
			}
		})
		for _, codec := range allCodecs {
			for _, tt := range []record.TimestampType{record.CreateTime, record.LogAppendTime} {
				raw := batchOf(b, codec, size)
				inner := len(batchOf(b, record.None, size))
				b.Run(fmt.Sprintf("%v, %v, %d B records", codec, tt, size), func(b *testing.B) {
					rules := plainRules()
					rules.TimestampType = tt
					b.SetBytes(int64(inner))
					b.ReportAllocs()
					header := [record.HeaderSize]byte(raw)
					for b.Loop() {
						copy(raw, header[:])
						if _, refusal := record.ValidateProduce(raw, rules); refusal != nil {
							b.Fatal(refusal)
						}
					}
				})
			}
		}
	}
}

var sink int64

func BenchmarkAccessors(b *testing.B) {
	raw := batchOf(b, record.None, 1024)
	b.ReportAllocs()
	for b.Loop() {
		batch, _, err := record.Next(raw)
		if err != nil {
			b.Fatal(err)
		}
		h, _ := record.ParseHeader(raw)
		sink += int64(batch.LastOffset()) + int64(batch.LastSequence()) + int64(h.NextOffset()) + int64(batch.Codec())
		batch.SetBaseOffset(kafka.Offset(0))
		batch.SetLeaderEpoch(1)
	}
}

func BenchmarkRecords(b *testing.B) {
	for _, codec := range allCodecs {
		raw := record.Batch(batchOf(b, codec, 1024))
		b.Run(codec.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				it := raw.Records(1 << 20)
				for it.Next() {
					sink += int64(it.Record().Offset)
				}
				it.Close()
			}
		})
	}
}
