package metadata

import (
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// One changed partition among 100,000, in many topics and in one.
func BenchmarkApplyOneChange(b *testing.B) {
	for _, shape := range []struct {
		name               string
		topics, partitions int
	}{{"1000x100", 1000, 100}, {"1x100000", 1, 100_000}, {"50000x2", 50_000, 2}} {
		b.Run(shape.name, func(b *testing.B) {
			image := manyPartitions(shape.topics, shape.partitions)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				r := &PartitionChange{TopicID: topicID(uint64(n % shape.topics)), Number: int32(n % shape.partitions), Fields: SetISR, ISR: nodesOf(0, 1)}
				image.Apply(image.Version()+1, []Record{r})
			}
		})
	}
}

// A broker is fenced: every third partition changes in one entry.
func BenchmarkApplyFence(b *testing.B) {
	image := manyPartitions(1000, 100)
	var records []Record
	for t := range image.Topics() {
		for n := range t.Partitions() {
			records = append(records, &PartitionChange{TopicID: t.ID, Number: n, Fields: SetISR | SetLeader, Leader: 1, ISR: nodesOf(1, 2)})
		}
	}
	for b.Loop() {
		image.Apply(image.Version()+1, records)
	}
	b.ReportMetric(float64(len(EncodeRecords(nil, records))), "entry-bytes")
}

func BenchmarkPartitionByID(b *testing.B) {
	image := manyPartitions(1000, 100)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if image.Partition(kafka.TopicIDPartition{TopicID: topicID(uint64(n % 1000)), Partition: int32(n % 100)}) == nil {
			b.Fatal("not found")
		}
	}
}
