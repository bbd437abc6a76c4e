package partition_test

import (
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/seglog"
)

// A log that goes and another that grows by as much are news too.
func TestRecoveryPointsAreWrittenWhateverTheyAddUpTo(t *testing.T) {
	c, _ := failing(t)
	b := c.brokers[0]
	points := func() map[kafka.TopicPartition]kafka.Offset {
		t.Helper()
		b.m.FlushOld(func() error { return nil }, c.now.Add(time.Hour))
		if err := b.m.CheckpointRecovery(); err != nil {
			t.Fatal(err)
		}
		all, err := b.dir.ReadCheckpoint(seglog.RecoveryPoints)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	b.produce(partition.AcksLeader, "a", "b")
	if got := points(); got[kafka.TopicPartition{Topic: topic}] != 2 || got[spare] != 0 {
		t.Fatalf("recovery points are %v", got)
	}
	c.apply(&metadata.RemoveTopic{ID: topicID})
	b.m.Apply(c.image, &metadata.Delta{Partitions: []metadata.PartitionDelta{{TopicIDPartition: kafka.TopicIDPartition{TopicID: topicID}, Topic: topic}}}, c.now, c.wall())
	p, _ := b.m.Get(spare)
	p.Produce(partition.ProduceRequest{
		Records: batch("a", "b", "c"), Version: 11, Acks: partition.AcksLeader, LeaderEpoch: kafka.NoLeaderEpoch, Wall: c.wall(), Now: c.now,
	}, func(partition.ProduceResult) {})
	if got := points(); len(got) != 1 || got[spare] != 3 {
		t.Errorf("recovery points are %v", got)
	}
}
