package partition

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// assign takes the partition's state from an image, and tells whether role, leader or leader epoch changed.
func (p *Partition) assign(image *metadata.Image, s *metadata.Partition, settings *config.Topic, now kafka.Elapsed) (Change, bool) {
	p.mu.Lock()
	before := Change{p, p.machine.Role(), p.leader(), false}
	p.configure(image, s.Factor(), settings, now)
	if !slices.Equal(p.isr, s.ISR) {
		p.tellNews(numWatchKinds)
	}
	p.isr = s.ISR
	p.machine.StepAssign(replica.Assignment{
		Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.Epoch, Replicas: s.Replicas, ISR: s.ISR,
		Recovering: s.Recovery == metadata.Recovering, Now: now,
		Brokers: func(n kafka.NodeID) replica.BrokerFacts { return brokerFacts(image.Broker(n)) },
	})
	then := p.carryOut(now)
	after := Change{p, p.machine.Role(), p.leader(), false}
	if before != after {
		p.notifyAll()
	}
	p.mu.Unlock()
	then.run()
	return after, before != after
}

// configure takes the topic's settings. p.mu is held.
func (p *Partition) configure(image *metadata.Image, replicas int, settings *config.Topic, now kafka.Elapsed) {
	if p.settings.Swap(settings) != settings {
		p.log.SetConfig(*settings)
	}
	p.machine.StepSettings(p.host.machineSettings(image, p.name.Topic, replicas, settings), now)
}

// reconfigure takes the topic's settings.
func (p *Partition) reconfigure(image *metadata.Image, replicas int, settings *config.Topic, now kafka.Elapsed) {
	p.mu.Lock()
	p.configure(image, replicas, settings, now)
	then := p.carryOut(now)
	p.mu.Unlock()
	then.run()
}

// brokerChanged takes what an image says of another broker.
func (p *Partition) brokerChanged(id kafka.NodeID, facts replica.BrokerFacts, now kafka.Elapsed) {
	p.mu.Lock()
	p.machine.StepBroker(id, facts, now)
	then := p.carryOut(now)
	p.mu.Unlock()
	then.run()
}

func brokerFacts(b *metadata.Broker) replica.BrokerFacts {
	if b == nil {
		return replica.BrokerFacts{Epoch: kafka.NoBrokerEpoch}
	}
	return replica.BrokerFacts{Epoch: b.Epoch, Alive: !b.Fenced, Eligible: b.TakesWrites()}
}

// altered takes the controller's answer to an ISR change.
func (p *Partition) altered(step replica.Altered) {
	p.mu.Lock()
	p.machine.StepAltered(step)
	then := p.carryOut(step.Now)
	p.mu.Unlock()
	then.run()
}

// close ends the partition: everything that waits is answered, and the log is closed. It must be out of the manager's
// maps already.
func (p *Partition) close(now kafka.Elapsed) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.machine.StepAssign(replica.Assignment{
		Leader: kafka.NoNode, LeaderEpoch: p.machine.LeaderEpoch(), PartitionEpoch: p.machine.PartitionEpoch(), Now: now,
	})
	p.closed = true
	then := p.carryOut(now)
	p.notifyAll()
	err := p.log.Close()
	p.mu.Unlock()
	then.run()
	return err
}
