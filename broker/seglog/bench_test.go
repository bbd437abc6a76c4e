package seglog

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// large are the settings of a plain topic.
func large() Config {
	c := small()
	c.SegmentBytes, c.SegmentIndexBytes, c.IndexIntervalBytes = 1<<30, 10<<20, 4096
	return c
}

func openLarge(b *testing.B, dir string, batches int) *Log {
	b.Helper()
	l, _, err := Open(vfs.OS(), dir+"/t-0", Options{Config: large(), Now: now0, TopicID: topic})
	must(b, err)
	batch := plain(b, 0, 1, now0)
	for range batches {
		batch.SetBaseOffset(l.EndOffset())
		must(b, l.Append(batch, now0))
	}
	return l
}

// The time of an append does not depend on how much is stored.
func BenchmarkAppend(b *testing.B) {
	for _, stored := range []int{0, 20_000, 400_000} {
		for _, records := range []int{1, 100} {
			b.Run(fmt.Sprintf("stored=%d/records=%d", stored, records), func(b *testing.B) {
				l := openLarge(b, b.TempDir(), stored)
				batch := plain(b, 0, records, now0)
				b.SetBytes(int64(len(batch)))
				b.ReportAllocs()
				for b.Loop() {
					batch.SetBaseOffset(l.EndOffset())
					if err := l.Append(batch, now0); err != nil {
						b.Fatal(err)
					}
				}
				must(b, l.Close())
			})
		}
	}
}

// Neither does that of a read: at random offsets, which need the index, and by a reader that goes on where it stopped.
func BenchmarkRead(b *testing.B) {
	for _, stored := range []int{4_000, 40_000, 400_000} {
		l := openLarge(b, b.TempDir(), stored)
		end := int64(l.EndOffset())
		b.Run(fmt.Sprintf("random/stored=%d", stored), func(b *testing.B) {
			at := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				at = (at*6364136223846793005 + 1442695040888963407) & (1<<62 - 1)
				s, err := l.Read(ReadRequest{From: kafka.Offset(at % end), Limit: kafka.Offset(end), MaxBytes: 1 << 20, AtLeastOneBatch: true})
				if err != nil || s.Len == 0 {
					b.Fatal(s.Len, err)
				}
				s.Release()
			}
		})
		b.Run(fmt.Sprintf("next/stored=%d", stored), func(b *testing.B) {
			at := kafka.Offset(0)
			b.ReportAllocs()
			for b.Loop() {
				s, err := l.Read(ReadRequest{From: at, Limit: kafka.Offset(end), MaxBytes: 16 << 10, AtLeastOneBatch: true})
				if err != nil || s.Len == 0 {
					b.Fatal(s.Len, err)
				}
				if at = s.NextOffset; at == kafka.Offset(end) {
					at = 0
				}
				s.Release()
			}
		})
		must(b, l.Close())
	}
}

// What an idle log costs: memory, and the time to open it after a clean stop.
func BenchmarkOpenIdle(b *testing.B) {
	dir := b.TempDir()
	const logs = 1000
	for i := range logs {
		l, _, err := Open(vfs.OS(), fmt.Sprintf("%s/t-%d", dir, i), Options{Config: large(), Now: now0, TopicID: topic})
		must(b, err)
		for range 10 {
			must(b, l.Append(plain(b, l.EndOffset(), 3, now0), now0))
		}
		must(b, l.Close())
	}
	files := NewFilePool(0)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		open := make([]*Log, logs)
		for i := range open {
			l, r, err := Open(vfs.OS(), fmt.Sprintf("%s/t-%d", dir, i), Options{Config: large(), Now: now0, TopicID: topic, Clean: true, Files: files})
			if err != nil || r.Scanned {
				b.Fatal(err, r)
			}
			open[i] = l
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/logs, "B/log")
		b.ReportMetric(float64(files.Open())/logs, "files/log")
		for _, l := range open {
			must(b, l.Close())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/logs, "µs/log")
}
