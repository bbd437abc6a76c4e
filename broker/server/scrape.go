package server

import (
	"sync/atomic"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// scrape is the broker's state at one moment, gathered once for all metrics.
type scrape struct {
	server *Server
	quorum quorum.Status
	image  *metadata.Image

	replicas, led, underReplicated, belowMinISR, leaderless int
	logBytes, unflushedBytes, waitingProduces               int64
	groups, shardsLoading                                   int
	clients, internal                                       conn.Stats
}

func (s *Server) scrape() *scrape {
	c := &scrape{server: s, quorum: s.quorum.Status(), image: s.images.Current(), clients: s.clientServer.Stats(), internal: s.internalServer.Stats()}
	for _, p := range s.partitions.All() {
		d := p.Describe()
		c.replicas++
		c.logBytes += d.SizeBytes
		c.unflushedBytes += int64(d.UnflushedBytes)
		c.waitingProduces += int64(d.Waiting)
		if d.Role == replica.Leader {
			c.led++
			c.addLed(p.ID(), p.TopicPartition().Topic, len(d.ISR))
		}
	}
	for t := range c.image.Topics() {
		for _, p := range t.Partitions() {
			if p.Leader == kafka.NoNode {
				c.leaderless++
			}
		}
	}
	for _, f := range s.groups.Facts() {
		c.groups += f.Groups
		if f.State == "loading" {
			c.shardsLoading++
		}
	}
	return c
}

// addLed judges one partition that this broker leads.
func (c *scrape) addLed(id kafka.TopicIDPartition, topic string, isr int) {
	state := c.image.Partition(id)
	if state == nil {
		return // deleted just now
	}
	if isr < len(state.Replicas) {
		c.underReplicated++
	}
	if isr < c.image.MinISR(topic, len(state.Replicas)) {
		c.belowMinISR++
	}
}

// partitionCounts count what images tell of partitions that this broker leads. The loop of images writes them.
type partitionCounts struct{ elections, isrShrinks, isrExpands atomic.Uint64 }

// follow counts one change of the image.
func (k *partitionCounts) follow(delta *metadata.Delta, self kafka.NodeID) {
	for i := range delta.Partitions {
		d := &delta.Partitions[i]
		if d.After == nil || d.After.Leader != self {
			continue
		}
		if d.Before == nil || d.Before.Leader != self || d.Before.LeaderEpoch != d.After.LeaderEpoch {
			k.elections.Add(1)
		}
		switch {
		case d.Before == nil:
		case len(d.After.ISR) < len(d.Before.ISR):
			k.isrShrinks.Add(1)
		case len(d.After.ISR) > len(d.Before.ISR):
			k.isrExpands.Add(1)
		}
	}
}
