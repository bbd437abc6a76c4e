package partition_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/replica"
)

func nodesOf(n ...kafka.NodeID) []kafka.NodeID { return n }

// begin starts a move from [0 1] to [2 1], end is its end.
func beginMove(c *cluster) {
	c.apply(&metadata.PartitionChange{
		TopicID: topicID, Fields: metadata.SetReplicas | metadata.SetAdding | metadata.SetRemoving,
		Replicas: nodesOf(2, 1, 0), Adding: nodesOf(2), Removing: nodesOf(0),
	})
}

func endMove(c *cluster) {
	c.apply(&metadata.PartitionChange{
		TopicID: topicID, Fields: metadata.SetReplicas | metadata.SetAdding | metadata.SetRemoving | metadata.SetISR | metadata.SetLeader,
		Replicas: nodesOf(2, 1), ISR: nodesOf(2, 1), Leader: 2,
	})
}

func (b *broker) folders() (names []string) {
	entries, err := b.fs.ReadDir("data")
	if err != nil {
		b.c.t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir {
			names = append(names, e.Name[:min(len(e.Name), len("t-0"))])
		}
	}
	return names
}

func TestAMoveOfTheLeader(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.topic(0, 1)
	old := c.brokers[0].partition()
	acked := c.brokers[0].produce(partition.AcksAll, "a", "b")
	c.settle(2)
	wantCode(t, "acks=all before the move", acked.Code, kafka.None)

	beginMove(c)
	during := c.brokers[0].produce(partition.AcksAll, "c")
	c.settle(4)
	wantCode(t, "acks=all during the move", during.Code, kafka.None)
	if isr := c.state().ISR; !slices.Contains(isr, 2) {
		t.Fatalf("the added replica is not in sync: ISR %v", isr)
	}
	if d := c.brokers[2].partition().Describe(); d.Role != replica.Follower || d.LogEnd != 3 {
		t.Fatalf("the added replica is %+v", d)
	}

	waiting := c.brokers[0].produce(partition.AcksAll, "in flight")
	endMove(c)
	c.sync()
	wantCode(t, "a produce that waits when the leader goes", waiting.Code, kafka.NotLeaderOrFollower)
	if _, code := c.brokers[0].m.Get(old.TopicPartition()); code != kafka.NotLeaderOrFollower {
		t.Errorf("at the old leader: code %v", code)
	}
	if last := c.brokers[0].changes[len(c.brokers[0].changes)-1]; !last.Gone || last.Partition != old {
		t.Errorf("the last change at the old leader: %+v", last)
	}
	after := c.brokers[2].produce(partition.AcksAll, "d")
	c.settle(4)
	wantCode(t, "acks=all after the move", after.Code, kafka.None)
	for _, b := range c.brokers[1:] {
		if values, _ := b.read(0, partition.ReadUncommitted); fmt.Sprint(values) != "[0=a 1=b 2=c 3=d]" {
			t.Errorf("broker %d has %v", b.id, values)
		}
	}
	if err := c.brokers[0].m.Purge(c.now.Add(time.Minute)); err != nil || len(c.brokers[0].folders()) != 0 {
		t.Errorf("folders of the old leader: %v, %v", c.brokers[0].folders(), err)
	}
}

// A replica that came back to a broker is a new one: nothing of the old folder counts.
func TestAReplicaThatComesBack(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.topic(0, 1)
	c.brokers[0].produce(partition.AcksAll, "a")
	beginMove(c)
	c.settle(4)
	endMove(c)
	c.settle(1)
	c.apply(&metadata.PartitionChange{TopicID: topicID, Fields: metadata.SetReplicas | metadata.SetAdding, Replicas: nodesOf(2, 1, 0), Adding: nodesOf(0)})
	c.settle(4)
	if values, _ := c.brokers[0].read(0, partition.ReadUncommitted); fmt.Sprint(values) != "[0=a]" {
		t.Errorf("it has %v", values)
	}
	if got := c.brokers[0].folders(); len(got) != 2 {
		t.Errorf("folders %v", got)
	}
}

// A broker that was down when its replica was moved away deletes it when it starts; while nobody leads, it keeps it aside.
func TestAMoveAwayFromADeadBroker(t *testing.T) {
	for _, led := range []bool{true, false} {
		c := newCluster(t, 3, nil)
		c.topic(0, 1)
		c.brokers[0].produce(partition.AcksAll, "a")
		beginMove(c)
		c.settle(4)
		c.brokers[0].kill()
		endMove(c)
		if !led {
			c.apply(&metadata.PartitionChange{TopicID: topicID, Fields: metadata.SetLeader, Leader: kafka.NoNode})
		}
		c.brokers[0].start()
		if err := c.brokers[0].m.Purge(c.now.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if got := c.brokers[0].folders(); (len(got) == 0) != led {
			t.Errorf("led %v: folders %v", led, got)
		}
	}
}

func TestWhoIsThrottled(t *testing.T) {
	c := newCluster(t, 3, nil)
	c.topic(0, 1)
	throttled := func(to kafka.NodeID, follower, leader bool) {
		t.Helper()
		if got := c.brokers[to].partition().Throttled(); got != follower {
			t.Errorf("replica %d takes in under the throttle: %v, want %v", to, got, follower)
		}
		if got := c.brokers[0].partition().ThrottledTo(to); got != leader {
			t.Errorf("replica %d is sent under the throttle: %v, want %v", to, got, leader)
		}
	}
	beginMove(c)
	c.sync()
	throttled(2, false, false)
	c.set("follower.replication.throttled.replicas", "0:2,0:1")
	c.set("leader.replication.throttled.replicas", "0:0")
	throttled(2, true, true)
	throttled(1, false, false) // in sync
	c.settle(4)
	c.sync()
	throttled(2, false, false)
}
