package partition_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
)

// TestRandomFaults plays random schedules of produces, lost fetches, elections, kills and power failures against three
// real brokers, and then demands that every acknowledged record is where it was acknowledged, on every replica.
func TestRandomFaults(t *testing.T) { playSchedules(t, false) }

// TestPowerFailuresWithFlush does the same with flush.messages=1: then the power may fail everywhere at once.
func TestPowerFailuresWithFlush(t *testing.T) { playSchedules(t, true) }

func playSchedules(t *testing.T, flushed bool) {
	seeds := int64(60)
	if testing.Short() {
		seeds = 5
	}
	total := 0
	for seed := range seeds {
		f := &faults{c: newCluster(t, 3, nil), acked: map[kafka.Offset]string{}, epoch: 100, flushed: flushed}
		f.c.rnd = rand.New(rand.NewSource(seed))
		f.c.loss = 20
		f.c.topic(0, 1, 2)
		if flushed {
			f.c.set("flush.messages", "1")
		}
		for range 1200 {
			f.step()
		}
		f.heal()
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(f.trace, "\n"))
		}
		total += len(f.acked)
	}
	if total < 8*int(seeds) {
		t.Errorf("only %d records were acknowledged in %d schedules", total, seeds)
	}
}

type faults struct {
	c     *cluster
	acked map[kafka.Offset]string
	epoch kafka.BrokerEpoch
	next  int
	// flushed: what is acknowledged is on the disk.
	flushed bool
	trace   []string
}

func (f *faults) logf(format string, args ...any) {
	f.trace = append(f.trace, fmt.Sprintf(format, args...))
}

func (f *faults) step() {
	c := f.c
	c.now = c.now.Add(time.Duration(c.rnd.Intn(40)) * time.Millisecond)
	b := c.brokers[c.rnd.Intn(len(c.brokers))]
	switch x := c.rnd.Intn(100); {
	case x < 30:
		if b.up {
			f.produce(b)
		}
	case x < 70:
		b.fetch()
	case x < 80:
		b.sync()
	case x < 90:
		if b.up {
			b.m.Tick(c.now)
			b.m.Flush(c.now)
			if c.rnd.Intn(4) == 0 {
				if err := b.m.CheckpointWatermarks(); err != nil {
					c.t.Error(err)
				}
			}
		}
	case x < 93:
		f.elect()
	case x < 96:
		if b.up {
			f.down(b)
		}
	case f.flushed && x == 96:
		f.logf("the power fails")
		for _, b := range c.brokers {
			if b.up {
				b.crash()
			}
		}
		f.electFrom(c.state().ISR)
	default:
		if !b.up {
			f.back(b)
		}
	}
}

func (f *faults) produce(b *broker) {
	f.next++
	value := fmt.Sprint("v", f.next)
	p := b.partition()
	if p == nil {
		return
	}
	p.Produce(partition.ProduceRequest{
		Records: batch(value), Version: 11, Acks: partition.AcksAll, LeaderEpoch: kafka.NoLeaderEpoch, Timeout: 2 * time.Second, Wall: f.c.wall(), Now: f.c.now,
	}, func(r partition.ProduceResult) {
		if r.Code == kafka.None && b.up {
			f.logf("%d acknowledges %d=%s", b.id, r.BaseOffset, value)
			if old, ok := f.acked[r.BaseOffset]; ok {
				f.c.t.Errorf("offset %d acknowledged for %s and for %s", r.BaseOffset, old, value)
			}
			f.acked[r.BaseOffset] = value
		}
	})
}

// elect makes any live member of the ISR the leader.
func (f *faults) elect() { f.electFrom(f.c.state().ISR) }

func (f *faults) electFrom(isr []kafka.NodeID) {
	leader := kafka.NoNode
	for _, i := range f.c.rnd.Perm(len(isr)) {
		if f.c.brokers[isr[i]].up {
			leader = isr[i]
		}
	}
	f.c.apply(&metadata.PartitionChange{TopicID: topicID, Fields: metadata.SetLeader | metadata.SetISR, Leader: leader, ISR: isr})
	f.logf("leader %d epoch %d isr %v", leader, f.c.state().LeaderEpoch, f.c.state().ISR)
}

// down ends a broker: by kill -9, or, when others are in sync, by a power failure.
func (f *faults) down(b *broker) {
	s := f.c.state()
	others := slices.DeleteFunc(slices.Clone(s.ISR), func(n kafka.NodeID) bool { return n == b.id })
	if (len(others) > 0 || f.flushed) && f.c.rnd.Intn(2) == 0 {
		b.crash()
	} else {
		b.kill()
	}
	f.logf("%d goes down", b.id)
	isr := s.ISR
	if len(others) > 0 {
		isr = others
	}
	if s.Leader == b.id {
		f.electFrom(isr)
	} else if len(isr) < len(s.ISR) {
		f.c.apply(&metadata.PartitionChange{TopicID: topicID, Fields: metadata.SetISR, ISR: isr})
	}
}

func (f *faults) back(b *broker) {
	f.epoch++
	f.c.apply(&metadata.RegisterBroker{Broker: metadata.Broker{ID: b.id, Epoch: f.epoch}})
	b.start()
	f.logf("%d is back", b.id)
	if f.c.state().Leader == kafka.NoNode {
		f.elect()
	}
}

// heal ends all faults and demands agreement.
func (f *faults) heal() {
	c := f.c
	c.loss = 0
	for _, b := range c.brokers {
		if !b.up {
			f.back(b)
		}
	}
	if c.state().Leader == kafka.NoNode {
		f.elect()
	}
	c.settle(100)
	if len(c.state().ISR) != 3 {
		c.t.Errorf("the ISR is %v", c.state().ISR)
	}
	var first []string
	for _, b := range c.brokers {
		values, r := b.read(0, partition.ReadUncommitted)
		d := b.partition().Describe()
		if r.Code != kafka.None || d.HighWatermark != d.LogEnd {
			c.t.Errorf("broker %d: code %d, %+v", b.id, r.Code, d)
		}
		if first == nil {
			first = values
		} else if !slices.Equal(values, first) {
			c.t.Errorf("broker %d has %v, broker 0 %v", b.id, values, first)
		}
		for offset, value := range f.acked {
			if !slices.Contains(values, fmt.Sprintf("%d=%s", offset, value)) {
				c.t.Errorf("broker %d does not have %d=%s", b.id, offset, value)
			}
		}
	}
}
