package partition_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// resigning is a cluster of three with one record, in which what brokers ask of the controller is counted.
func resigning(t *testing.T) (c *cluster, asked *int) {
	asked = new(int)
	c = newCluster(t, 3, func(o *partition.Options) {
		alter := o.Alter
		o.Alter = func(req *kmsg.AlterPartitionRequest, done func(*kmsg.AlterPartitionResponse, error)) {
			*asked++
			alter(req, done)
		}
	})
	c.topic(0, 1, 2)
	c.set("flush.messages", "1") // so that a deleted folder is noticed at once
	c.set("min.insync.replicas", "2")
	first := c.brokers[0].produce(partition.AcksAll, "a")
	c.settle(4)
	wantCode(t, "the first record", first.Code, kafka.None)
	return c, asked
}

func (b *broker) loseFolder() {
	if err := b.fs.RemoveAll("data/t-0"); err != nil {
		b.c.t.Fatal(err)
	}
}

func (c *cluster) wantState(what string, leader kafka.NodeID, isr ...kafka.NodeID) {
	c.t.Helper()
	if s := c.state(); s.Leader != leader || !slices.Equal(s.ISR, isr) {
		c.t.Errorf("%s: broker %d leads, the ISR is %v; want %d, %v", what, s.Leader, s.ISR, leader, isr)
	}
}

// lagged is longer than a replica may keep silent.
const lagged = int(31 * time.Second / (30 * time.Millisecond))

func TestALeaderWhoseLogFailedResigns(t *testing.T) {
	c, _ := resigning(t)
	c.brokers[0].loseFolder()
	waits := c.brokers[0].produce(partition.AcksAll, "b")
	c.settle(4)
	wantCode(t, "what came last", waits.Code, kafka.KafkaStorageError)
	c.wantState("soon", 1, 1, 2)
	next := c.brokers[1].produce(partition.AcksAll, "c")
	c.settle(lagged)
	wantCode(t, "a produce to the next leader", next.Code, kafka.None)
	c.wantState("later", 1, 1, 2)

	c.brokers[0].kill()
	c.brokers[0].start()
	c.settle(20)
	c.wantState("with an empty folder", 1, 0, 1, 2)
	for _, b := range c.brokers {
		if got := fmt.Sprint(b.readAll()); got != "[0=a 1=c]" {
			t.Errorf("broker %d has %s", b.id, got)
		}
	}
}

// A follower that resigns does not hold up what waits for all in-sync replicas, and is not taken back for what it had.
func TestAFollowerWhoseLogFailedResigns(t *testing.T) {
	c, asked := resigning(t)
	c.brokers[2].loseFolder()
	waits := c.brokers[0].produce(partition.AcksAll, "b")
	c.settle(6)
	c.wantState("soon", 0, 0, 1)
	wantCode(t, "what came last", waits.Code, kafka.None)
	before := *asked
	c.settle(lagged)
	c.wantState("later", 0, 0, 1)
	if *asked != before {
		t.Errorf("%d requests after it is out of the ISR", *asked-before)
	}
	if _, ok := c.brokers[2].partition().LogEnd(1); ok {
		t.Error("the end of the log is told, as if it could be elected for that")
	}
	c.brokers[2].kill()
	c.brokers[2].start()
	c.settle(20)
	c.wantState("with an empty folder", 0, 0, 1, 2)
}

// The last one that could lead keeps its place and asks again, not too often; it gives up nobody for that it does not fetch.
func TestAResignationIsRepeatedAtABoundedRate(t *testing.T) {
	c, asked := resigning(t)
	c.brokers[1].kill()
	c.brokers[2].kill()
	c.brokers[0].loseFolder()
	c.brokers[0].produce(partition.AcksLeader, "b")
	c.settle(1)
	before := *asked
	c.settle(lagged)
	c.wantState("alone", 0, 0, 1, 2)
	if most := 31 * 2; *asked-before > most || *asked-before < most/2 {
		t.Errorf("asked %d times in 31 s", *asked-before)
	}
	c.brokers[1].start()
	c.settle(20)
	c.wantState("when another is back", 1, 1, 2)
}

// A replica that is the only one has nobody to resign to.
func TestTheOnlyReplicaDoesNotResign(t *testing.T) {
	c := newCluster(t, 1, func(o *partition.Options) {
		o.Alter = func(*kmsg.AlterPartitionRequest, func(*kmsg.AlterPartitionResponse, error)) {
			t.Error("it asks for another ISR")
		}
	})
	c.topic(0)
	c.set("flush.messages", "1")
	c.brokers[0].loseFolder()
	c.brokers[0].produce(partition.AcksLeader, "a")
	c.settle(50)
	if len(c.brokers[0].m.FailedLogs()) != 1 {
		t.Error("the log has not failed")
	}
}

// A log that cannot be opened has no machine, and leads nothing all the same. That of a topic that is gone is nobody's.
func TestALogThatCannotBeOpenedResigns(t *testing.T) {
	c, asked := resigning(t)
	b := c.brokers[0]
	b.kill()
	for _, name := range []string{"data/t-0/leader-epoch-checkpoint", "data/gone-0/leader-epoch-checkpoint"} {
		_ = b.fs.Remove(name)
		if err := b.fs.MkdirAll(name); err != nil {
			t.Fatal(err)
		}
	}
	*asked = 0
	b.start()
	c.wantState("at the start", 0, 0, 1, 2)
	c.settle(4)
	c.wantState("soon", 1, 1, 2)
	next := c.brokers[1].produce(partition.AcksAll, "b")
	c.settle(lagged)
	wantCode(t, "a produce to the next leader", next.Code, kafka.None)
	c.wantState("later", 1, 1, 2)
	if *asked != 1 {
		t.Errorf("%d requests, want one", *asked)
	}
}
