package metadata

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

func TestRefusedRecords(t *testing.T) {
	id := topicID(1)
	base, _ := new(Image).Apply(5, []Record{
		&ClusterRecord{"c"},
		&RegisterBroker{Broker{ID: 1, Epoch: 7}},
		&TopicRecord{id, "t"},
		&PartitionRecord{id, 0, Partition{Replicas: nodesOf(1, 2, 3), ISR: nodesOf(1), ELR: nodesOf(2), Leader: 1}},
		&ProducerIDsRecord{Next: 1000},
	})
	f := func(why string, records ...Record) {
		t.Helper()
		defer func() {
			t.Helper()
			v, ok := recover().(*Violation)
			if !ok || !strings.Contains(v.Error(), why) {
				t.Errorf("%+v: got %v, want a violation with %q", records, v, why)
			}
		}()
		base.Apply(6, records)
	}
	change := func(fields PartitionFields, c PartitionChange) Record {
		c.TopicID, c.Fields = id, fields
		return &c
	}
	f("cannot become", &ClusterRecord{"d"})
	f("is the next", &RegisterBroker{Broker{ID: 2, Epoch: 7}})
	f("is not registered", &BrokerChange{ID: 1, Epoch: 6})
	f("is not registered", &BrokerChange{ID: 2, Epoch: 7})
	f("is not registered", &UnregisterBroker{1, 8})
	f("exists", &TopicRecord{topicID(2), "t"})
	f("exists", &TopicRecord{id, "u"})
	f("does not exist", &RemoveTopic{topicID(2)})
	f("was removed in this entry", &RemoveTopic{id}, &RemoveTopic{id})
	f("1 is the next", &PartitionRecord{id, 2, Partition{Replicas: nodesOf(1), ISR: nodesOf(1), Leader: 1}})
	f("replicas are empty", &PartitionRecord{id, 1, Partition{Leader: kafka.NoNode}})
	f("twice", &PartitionRecord{id, 1, Partition{Replicas: nodesOf(1, 1), ISR: nodesOf(1), Leader: 1}})
	f("partition 9 does not exist", &PartitionChange{TopicID: id, Number: 9})
	f("holds no replica", change(SetISR, PartitionChange{ISR: nodesOf(1, 4)}))
	f("overlap", change(SetISR, PartitionChange{ISR: nodesOf(1, 2)}))
	f("not in the ISR", change(SetLeader, PartitionChange{Leader: 2}))
	f("not in the ISR", change(SetISR, PartitionChange{ISR: nodesOf(3)}))
	// KAFKA-19148: a replica that is neither in sync nor eligible must not lead, however the ISR is set.
	f("neither in ISR", change(SetLeader|SetISR, PartitionChange{Leader: 3, ISR: nodesOf(1, 3)}))
	f("neither in ISR", change(SetLeader|SetISR|SetRecovery, PartitionChange{Leader: 3, ISR: nodesOf(3), Recovery: Recovered}))
	f("holds no replica", change(SetAdding, PartitionChange{Adding: nodesOf(4)}))
	f("both adds and removes", change(SetAdding|SetRemoving, PartitionChange{Adding: nodesOf(3), Removing: nodesOf(3)}))
	f("to nothing", change(SetRemoving, PartitionChange{Removing: nodesOf(1, 2, 3)}))
	f("go back", &ProducerIDsRecord{Next: 999})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("an entry before the image's version was applied")
			}
		}()
		base.Apply(4, nil)
	}()

	// The same, where it is legal.
	unclean, d := base.Apply(6, []Record{change(SetLeader|SetISR|SetELR|SetRecovery, PartitionChange{Leader: 3, ISR: nodesOf(3), Recovery: Recovering})})
	p := unclean.Partition(kafka.TopicIDPartition{TopicID: id})
	if p.Leader != 3 || p.LeaderEpoch != 1 || p.Epoch != 1 || len(d.Partitions) != 1 {
		t.Errorf("after an unclean election: %+v, delta %+v", p, d)
	}
	elr, _ := base.Apply(6, []Record{change(SetLeader|SetISR|SetELR, PartitionChange{Leader: 2, ISR: nodesOf(2), ELR: nodesOf(1)})})
	if p := elr.Partition(kafka.TopicIDPartition{TopicID: id}); p.Leader != 2 || p.LeaderEpoch != 1 {
		t.Errorf("after an election from the ELR: %+v", p)
	}
	// A shrink of the ISR is no new leadership (KAFKA-15021).
	same, _ := base.Apply(6, []Record{change(SetELR, PartitionChange{})})
	if p := same.Partition(kafka.TopicIDPartition{TopicID: id}); p.LeaderEpoch != 0 || p.Epoch != 1 {
		t.Errorf("after a change without leader: %+v", p)
	}
}

func TestRegisteredAt(t *testing.T) {
	image, _ := new(Image).Apply(9, []Record{&RegisterBroker{Broker{ID: 1, Epoch: 0, Fenced: true}}})
	image, _ = image.Apply(12, []Record{&BrokerChange{ID: 1, Epoch: 0}})
	if b := image.Broker(1); b.RegisteredAt != 9 || b.Fenced {
		t.Errorf("%+v, want registered at 9 and not fenced", b)
	}
	image, _ = image.Apply(20, []Record{&UnregisterBroker{1, 0}})
	if restored := FromRecords(20, image.Records()); restored.NextBrokerEpoch() != 1 {
		t.Errorf("the next broker epoch after the newest broker left and a snapshot is %d, want 1", restored.NextBrokerEpoch())
	}
}

func TestMinISR(t *testing.T) {
	f := func(replicas, want int, records ...Record) {
		t.Helper()
		image, _ := new(Image).Apply(1, records)
		if got := image.MinISR("t", replicas); got != want {
			t.Errorf("MinISR with %d replicas = %d, want %d", replicas, got, want)
		}
	}
	set := func(r Resource, v string) Record { return &ConfigRecord{Resource: r, Name: MinISRSetting, Value: v} }
	f(3, 1)
	f(3, 2, set(TopicConfig("t"), "2"))
	f(3, 1, set(TopicConfig("other"), "2"))
	f(3, 2, set(DefaultBrokerConfig, "2"))
	f(3, 3, set(DefaultBrokerConfig, "2"), set(TopicConfig("t"), "3"))
	f(1, 1, set(TopicConfig("t"), "2"))
	f(3, 1, set(BrokerConfig(1), "2"))
}

func TestMove(t *testing.T) {
	p := Partition{Replicas: nodesOf(4, 2, 1, 3), Adding: nodesOf(4), Removing: nodesOf(1, 3)}
	if !p.Moving() || !slices.Equal(p.Target(), nodesOf(4, 2)) || !slices.Equal(p.Original(), nodesOf(2, 1, 3)) || p.Factor() != 3 {
		t.Errorf("%+v: moving %v, target %v, original %v, factor %d", p, p.Moving(), p.Target(), p.Original(), p.Factor())
	}
}

func TestDeltaOfRecreation(t *testing.T) {
	one := func(id kafka.TopicID) []Record {
		return []Record{&TopicRecord{id, "t"}, &PartitionRecord{id, 0, Partition{Replicas: nodesOf(1), ISR: nodesOf(1), Leader: 1}}}
	}
	before, _ := new(Image).Apply(1, one(topicID(9)))
	after, d := before.Apply(2, append([]Record{&RemoveTopic{topicID(9)}}, one(topicID(3))...))
	if len(d.Topics) != 2 || d.Topics[0].Before == nil || d.Topics[1].After == nil {
		t.Errorf("topics of the delta: %+v, want the old one gone, then the new one", d.Topics)
	}
	if len(d.Partitions) != 2 || d.Partitions[0].After != nil || d.Partitions[1].Before != nil {
		t.Errorf("partitions of the delta: %+v, want the old one gone, then the new one", d.Partitions)
	}
	if after.TopicByID(topicID(9)) != nil || after.TopicByName("t").ID != topicID(3) {
		t.Error("the old topic is still there")
	}
}
