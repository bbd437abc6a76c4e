package metactl

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// StopVerdict tells whether a set of brokers can stop together, and what stands against it.
type StopVerdict struct {
	// Safe: no partition that can be whole would lose its leader or its acknowledgements, and the quorum keeps a majority.
	Safe bool
	// QuorumLost: fewer voters than a majority would remain.
	QuorumLost bool
	// Blocked lists partitions that forbid the stop now: the first maxStopExamples in order of topic and number, of
	// BlockedCount. They will allow it when the named brokers have caught up or fewer brokers stop together.
	Blocked      []StopConcern
	BlockedCount int
	// Unavoidable lists partitions that lose something whenever any of their brokers stops, since they have too few replicas.
	// They forbid nothing: waiting would not help.
	Unavoidable      []StopConcern
	UnavoidableCount int
}

// StopConcern is what a stop would do to one partition.
type StopConcern struct {
	kafka.TopicPartition
	Loses StopLoss
	// CatchingUp are the brokers outside the set that hold replicas and are not in sync. The concern clears when enough of them are.
	CatchingUp []kafka.NodeID
}

// StopLoss says what a partition loses.
type StopLoss string

const (
	LosesLeader StopLoss = "leader" // nobody could lead it: neither reads nor writes
	LosesAcks   StopLoss = "acks"   // fewer in-sync replicas than min.insync.replicas: no writes with acks=all
)

// maxStopExamples bounds the lists of a verdict.
const maxStopExamples = 100

// SafeToStop judges whether brokers can stop together. voters are the voters of the metadata quorum and reachable those of
// them that answer.
//
// A partition that has lost already what it would lose does not count: one bad topic must not veto every roll.
func SafeToStop(i *metadata.Image, stopping, voters, reachable []kafka.NodeID) StopVerdict {
	var v StopVerdict
	left := 0
	for _, n := range reachable {
		if slices.Contains(voters, n) && !slices.Contains(stopping, n) {
			left++
		}
	}
	v.QuorumLost = len(voters) > 0 && left < len(voters)/2+1
	for t := range i.Topics() {
		for n, p := range t.Partitions() {
			c, avoidable := stopConcern(i, t.Name, p, stopping)
			if c.Loses == "" {
				continue
			}
			c.TopicPartition = kafka.TopicPartition{Topic: t.Name, Partition: n}
			if avoidable {
				if v.BlockedCount++; len(v.Blocked) < maxStopExamples {
					v.Blocked = append(v.Blocked, c)
				}
			} else if v.UnavoidableCount++; len(v.Unavoidable) < maxStopExamples {
				v.Unavoidable = append(v.Unavoidable, c)
			}
		}
	}
	v.Safe = !v.QuorumLost && v.BlockedCount == 0
	return v
}

// stopConcern is what one partition loses, and whether it could do without one broker if all its replicas were in sync.
func stopConcern(i *metadata.Image, topic string, p *metadata.Partition, stopping []kafka.NodeID) (c StopConcern, avoidable bool) {
	if !slices.ContainsFunc(p.Replicas, func(n kafka.NodeID) bool { return slices.Contains(stopping, n) }) {
		return c, false
	}
	stays := func(n kafka.NodeID) bool { return !slices.Contains(stopping, n) }
	staysUp := func(n kafka.NodeID) bool { return stays(n) && i.Eligible(n) }
	minISR := i.MinISR(topic, p.Factor())
	inSync, spare := len(filter(p.ISR, staysUp)), len(p.Replicas)-1
	electable := inSync + len(filter(p.ELR, staysUp))
	switch {
	case electable == 0 && p.Leader != kafka.NoNode:
		c.Loses, avoidable = LosesLeader, spare > 0
	case inSync < minISR && len(filter(p.ISR, i.Eligible)) >= minISR && p.Leader != kafka.NoNode:
		c.Loses, avoidable = LosesAcks, spare >= minISR
	}
	for _, n := range p.Replicas {
		if stays(n) && !p.InISR(n) {
			c.CatchingUp = append(c.CatchingUp, n)
		}
	}
	return c, avoidable
}
