package record_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A client that consumes what we build, marker included, must see the records that went in.
func TestFranzGoReadsWhatWeBuild(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 3))
	for range 100 {
		rs := randomRecords(rnd)
		codec := allCodecs[rnd.IntN(len(allCodecs))]
		b := record.NewBuilder(record.BuilderOptions{
			BaseOffset: 1000, LeaderEpoch: 4, Codec: codec, Transactional: true, Idempotent: true, ProducerID: 7, ProducerEpoch: 2,
		})
		for _, r := range rs {
			var hs []record.RecordHeader
			for _, h := range r.headers {
				hs = append(hs, record.RecordHeader{Key: h.Key, Value: h.Value})
			}
			b.Add(kafka.Timestamp(r.ts), r.key, r.value, hs...)
		}
		data, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		end := record.EndTxnMarker{ProducerID: 7, ProducerEpoch: 2, Commit: true, Timestamp: 1}.Batch()
		end.SetBaseOffset(data.NextOffset())
		p := &kmsg.FetchResponseTopicPartition{RecordBatches: append(bytes.Clone(data), end...), HighWatermark: 1 << 40, LastStableOffset: 1 << 40}
		got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: 1000, KeepControlRecords: true}, p, kgo.DefaultDecompressor(), nil)
		if got.Err != nil || len(got.Records) != len(rs)+1 || kafka.Offset(next) != end.NextOffset() {
			t.Fatalf("seed %d, %v: error %v, %d records up to %d, want %d up to %d", seed, codec, got.Err, len(got.Records), next, len(rs)+1, end.NextOffset())
		}
		for i, r := range got.Records[:len(rs)] {
			w := rs[i]
			if r.Offset != int64(1000+i) || r.Timestamp.UnixMilli() != w.ts || !same(r.Key, w.key) || !same(r.Value, w.value) || len(r.Headers) != len(w.headers) ||
				r.LeaderEpoch != 4 || r.ProducerID != 7 || !r.Attrs.IsTransactional() || r.Attrs.IsControl() {
				t.Fatalf("seed %d, %v, record %d: %+v, want %+v", seed, codec, i, r, w)
			}
		}
		if m := got.Records[len(rs)]; !m.Attrs.IsControl() || m.Offset != int64(end.BaseOffset()) {
			t.Fatalf("seed %d: marker %+v", seed, m)
		}
	}
}

// And what franz-go compresses as a producer is accepted and read.
func TestWhatFranzGoCompressesIsAccepted(t *testing.T) {
	rs := randomRecords(rand.New(rand.NewPCG(8, 8)))
	for codec, of := range map[record.Codec]kgo.CompressionCodec{
		record.Gzip: kgo.GzipCompression(), record.Snappy: kgo.SnappyCompression(), record.LZ4: kgo.Lz4Compression(), record.Zstd: kgo.ZstdCompression(),
	} {
		c, err := kgo.DefaultCompressor(of)
		if err != nil {
			t.Fatal(err)
		}
		z, got := c.Compress(new(bytes.Buffer), payload(rs))
		if record.Codec(got) != codec {
			t.Fatalf("franz-go took codec %d for %v", got, codec)
		}
		rules := plainRules()
		rules.AfterMaxMs = 1 << 50
		info, refusal := record.ValidateProduce(sent(t, codec, rs, func(rb *kmsg.RecordBatch) { rb.Records = z }), rules)
		if refusal != nil {
			t.Fatalf("%v: %+v", codec, refusal)
		}
		checkRecords(t, info.Batch, rs)
	}
}
