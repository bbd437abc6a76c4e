package metactl

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// hundredThousand is a cluster of three brokers with 1,000 topics of 100 partitions.
func hundredThousand(b *testing.B) *world {
	w := newWorld(b, Options{})
	w.start(3)
	for n := range 1000 {
		w.create(newTopic(fmt.Sprintf("topic-%04d", n), 100, 3))
	}
	w.log = nil
	b.ResetTimer()
	return w
}

func BenchmarkAlterPartition(b *testing.B) {
	w := hundredThousand(b)
	topic := w.image().TopicByName("topic-0500")
	for n := 0; b.Loop(); n++ {
		p := topic.Partition(int32(n % 100))
		req := kmsg.NewPtrAlterPartitionRequest()
		req.Version, req.BrokerID, req.BrokerEpoch = 3, int32(p.Leader), int64(p.Leader)
		rp := kmsg.NewAlterPartitionRequestTopicPartition()
		now := w.image().Partition(kafka.TopicIDPartition{TopicID: topic.ID, Partition: int32(n % 100)})
		rp.Partition, rp.LeaderEpoch, rp.PartitionEpoch = int32(n%100), int32(now.LeaderEpoch), int32(now.Epoch)
		size := 2 + n/100%2
		for _, id := range now.Replicas[:size] {
			rp.NewEpochISR = append(rp.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: int32(id), BrokerEpoch: int64(id)})
		}
		rt := kmsg.NewAlterPartitionRequestTopic()
		rt.TopicID = topic.ID
		rt.Partitions = append(rt.Partitions, rp)
		req.Topics = append(req.Topics, rt)
		resp := decide[*kmsg.AlterPartitionResponse](w, req)
		if code := resp.Topics[0].Partitions[0].ErrorCode; code != 0 {
			b.Fatal(code)
		}
		w.log = nil
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	w := hundredThousand(b)
	for b.Loop() {
		w.heartbeat(1, false, false)
	}
}

func BenchmarkTick(b *testing.B) {
	w := hundredThousand(b)
	for b.Loop() {
		w.c.Tick(w.now)
	}
}

// A broker dies: a third of 100,000 partitions get another leader. Decision, encoding, decoding and two Applies.
func BenchmarkSuspect(b *testing.B) {
	w := hundredThousand(b)
	image := w.image()
	var decided time.Duration
	n := 0
	for ; b.Loop(); n++ {
		w.c.Restore(image)
		w.c.BecomeLeader(w.now)
		start := time.Now()
		records := w.c.Suspect(1, -1, w.now)
		decided += time.Since(start)
		w.commit(records)
		w.log = nil
	}
	b.ReportMetric(float64(decided.Milliseconds())/float64(n), "ms-to-decide")
	b.ReportMetric(float64(len(metadata.EncodeRecords(nil, image.Records()))), "snapshot-bytes")
}
