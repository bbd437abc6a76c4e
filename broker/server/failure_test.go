package server

import (
	"errors"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// TestABrokerWhoseDirectoryFailedIsFencedAtOnce: it tells the controller and ends, and others lead what it led.
func TestABrokerWhoseDirectoryFailedIsFencedAtOnce(t *testing.T) {
	servers, ends := runBrokers(t, 3)
	createTopic(t, servers[0], "t", 3)
	leader := servers[0].images.Current().TopicByName("t").Partition(0).Leader
	bad, other := servers[leader], servers[(leader+1)%3]
	tp := kafka.TopicPartition{Topic: "t"}
	var p *partition.Partition
	eventually(t, "the partition is led", func() bool {
		p, _ = bad.partitions.Get(tp)
		return p != nil && p.Describe().Leader.ID == leader
	})
	bad.fs.(*vfs.Mem).Inject(vfs.Fault{Op: vfs.OpWrite, Pattern: "0*.log", Err: syscall.EIO})
	began := time.Now()
	if r := produce(t, bad, p); r.Code != kafka.KafkaStorageError {
		t.Errorf("a produce to a disk that fails is answered %s", r.Code)
	}
	eventually(t, "another leads", func() bool {
		image := other.images.Current()
		topic := image.TopicByName("t")
		if topic == nil {
			return false // this one has not heard of it yet
		}
		l := topic.Partition(0).Leader
		return image.Broker(leader).Fenced && l != leader && l != kafka.NoNode
	})
	if took := time.Since(began); took > 5*time.Second { // the session timeout is 9 s
		t.Errorf("it was fenced after %v", took)
	}
	if err := ends[leader](); err == nil || !strings.Contains(err.Error(), "data directory failed") {
		t.Errorf("the broker ended with %v", err)
	}
	for id, end := range ends {
		if kafka.NodeID(id) != leader {
			if err := end(); err != nil {
				t.Errorf("broker %d: %v", id, err)
			}
		}
	}
}

// TestTheOnlyReplicaLeadsSoonAfterAnUncleanStop: nobody may lead until it has told the end of its log, which it does as soon as it has registered.
func TestTheOnlyReplicaLeadsSoonAfterAnUncleanStop(t *testing.T) {
	servers, ends := runBrokers(t, 3)
	createTopic(t, servers[0], "alone", 1)
	leader := servers[0].images.Current().TopicByName("alone").Partition(0).Leader
	bad, other := servers[leader], servers[(leader+1)%3]
	var p *partition.Partition
	eventually(t, "the partition is led", func() bool {
		p, _ = bad.partitions.Get(kafka.TopicPartition{Topic: "alone"})
		return p != nil && p.Describe().Leader.ID == leader
	})
	if r := produce(t, bad, p); r.Code != kafka.None {
		t.Fatal(r.Code)
	}
	heal := bad.fs.(*vfs.Mem).Inject(vfs.Fault{Op: vfs.OpWrite, Pattern: "0*.log", Err: syscall.EIO})
	produce(t, bad, p)
	eventually(t, "it is fenced", func() bool { return other.images.Current().Broker(leader).Fenced })
	if err := ends[leader](); err == nil {
		t.Fatal("the broker ended cleanly")
	}
	heal()
	began := time.Now()
	back, end := again(t, bad)
	ends[leader] = end
	eventually(t, "it leads again", func() bool {
		q, _ := back.partitions.Get(kafka.TopicPartition{Topic: "alone"})
		return q != nil && q.Describe().Leader.ID == leader && q.Describe().HighWatermark == 1
	})
	if took := time.Since(began); took > logEndsEvery {
		t.Errorf("after %v, when reports come again by themselves", took)
	}
	for id, end := range ends {
		if err := end(); err != nil {
			t.Errorf("broker %d: %v", id, err)
		}
	}
}

// TestABrokerWithoutOneOfItsLogsServesTheOthers: and the cluster does not count on the one that cannot be opened.
func TestABrokerWithoutOneOfItsLogsServesTheOthers(t *testing.T) {
	servers, ends := runBrokers(t, 3)
	createTopic(t, servers[0], "alone", 1)
	createTopic(t, servers[0], "t", 3)
	leader := servers[0].images.Current().TopicByName("alone").Partition(0).Leader
	bad, other := servers[leader], servers[(leader+1)%3]
	if err := ends[leader](); err != nil {
		t.Fatal(err)
	}
	folder := bad.directory.Path() + "/alone-0/"
	if err := errors.Join(bad.fs.Remove(folder+"fairlead.journal"), bad.fs.MkdirAll(folder+"fairlead.journal")); err != nil {
		t.Fatal(err)
	}
	back, end := again(t, bad)
	ends[leader] = end
	eventually(t, "it is back in the ISR of what it has", func() bool {
		topic := other.images.Current().TopicByName("t")
		return topic != nil && len(topic.Partition(0).ISR) == 3 && other.images.Current().Broker(leader).Incarnation == back.incarnation
	})
	if p := other.images.Current().TopicByName("alone").Partition(0); p.Leader == leader && p.Recovery != metadata.Recovering {
		t.Error("the cluster believes that the replica holds what it held when it was stopped")
	}
	if got := back.partitions.FailedLogs(); len(got) != 1 {
		t.Errorf("failed logs: %v", got)
	}
	for id, end := range ends {
		if err := end(); err != nil {
			t.Errorf("broker %d: %v", id, err)
		}
	}
}

// produce appends one record of 1000 bytes with acks=all and waits for the answer.
func produce(t *testing.T, s *Server, p *partition.Partition) partition.ProduceResult {
	t.Helper()
	b := record.NewBuilder(record.BuilderOptions{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1})
	b.Add(s.clock.Wall(), nil, make([]byte, 1000))
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan partition.ProduceResult, 1)
	p.Produce(partition.ProduceRequest{
		Records: batch, Acks: partition.AcksAll, Timeout: math.MaxInt64 / 4, Wall: s.clock.Wall(), Now: s.clock.Elapsed(), LeaderEpoch: kafka.NoLeaderEpoch,
	}, func(r partition.ProduceResult) { done <- r })
	return <-done
}
