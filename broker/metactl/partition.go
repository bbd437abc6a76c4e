package metactl

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/balance"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// partitionRef names a partition and what it is in the image of the turn.
type partitionRef struct {
	topic *metadata.Topic
	kafka.TopicIDPartition
	*metadata.Partition
}

func refOf(t *metadata.Topic, n int32) partitionRef {
	return partitionRef{t, kafka.TopicIDPartition{TopicID: t.ID, Partition: n}, t.Partition(n)}
}

// each visits all partitions in order of topic and number, collects the changes, and adds them as one batch.
func (t *turn) each(change func(partitionRef) *metadata.PartitionChange) {
	var batch []metadata.Record
	for topic := range t.image.Topics() {
		for n, p := range topic.Partitions() {
			ref := partitionRef{topic, kafka.TopicIDPartition{TopicID: topic.ID, Partition: n}, p}
			if c := change(ref); c != nil {
				batch = append(batch, c)
			}
		}
	}
	t.add(batch...)
}

// transition is a partition on its way to another state. Its methods change `after` and keep the invariants of
// metadata.Partition; done gives the record.
type transition struct {
	t       *turn
	ref     partitionRef
	after   *metadata.Partition
	may     func(kafka.NodeID) bool // who may lead; usually who is eligible
	unclean bool
}

// change starts a transition. may says who may lead; nil means every eligible broker.
func (t *turn) change(ref partitionRef, may func(kafka.NodeID) bool) *transition {
	if may == nil {
		may = t.image.Eligible
	}
	return &transition{t: t, ref: ref, after: ref.Clone(), may: may}
}

// setISR makes isr the in-sync set and moves replicas between it and the ELR. While the ISR is smaller than
// min.insync.replicas the high watermark stands still, so whoever was in sync or eligible stays eligible; when
// it is large enough again, it moves on without the others (KIP-966).
func (x *transition) setISR(isr []kafka.NodeID) {
	p := x.after
	var elr []kafka.NodeID
	if x.t.c.rules.EligibleReplicas && len(isr) < x.t.image.MinISR(x.ref.topic.Name, p.Factor()) {
		for _, n := range p.Replicas {
			if (p.InISR(n) || p.InELR(n)) && !slices.Contains(isr, n) {
				elr = append(elr, n)
			}
		}
	}
	p.ISR, p.ELR = isr, elr
}

// shedGone takes brokers that are fenced or stopping out of the ISR, if another member is known to live. Else they stay: that the others
// have not been fenced yet does not mean that they live, and when they come back from a loss of power, those who stopped in order may be the
// last to have what is committed. Members that cannot lead hold up nothing then but the watermark of a leader of which nobody has heard.
func (x *transition) shedGone() {
	if slices.ContainsFunc(x.after.ISR, x.t.lives) {
		if isr := filter(x.after.ISR, x.t.image.Eligible); len(isr) < len(x.after.ISR) {
			x.setISR(isr)
		}
	}
}

// lose takes a broker whose log cannot be trusted to hold what it held out of ISR and ELR. lastKnown tells that its log
// may still be the most complete there is.
func (x *transition) lose(n kafka.NodeID, lastKnown bool) {
	p := x.after
	held := p.InISR(n) || p.InELR(n)
	if !held {
		if !lastKnown {
			p.LastKnownELR = without(p.LastKnownELR, n)
		}
		return
	}
	isr := without(p.ISR, n)
	x.setISR(isr)
	p.ELR = without(p.ELR, n)
	p.LastKnownELR = without(p.LastKnownELR, n)
	if lastKnown {
		p.LastKnownELR = append(p.LastKnownELR, n)
	}
}

// elect sees to it that the partition has a leader if it can: the present one when it is in sync and may lead, else one of
// the ISR, else one of the ELR; of each, one that takes writes first. Never anyone else: that is what unclean elections are
// for.
func (x *transition) elect() {
	p := x.after
	if p.Leader != kafka.NoNode && p.InISR(p.Leader) && x.may(p.Leader) {
		p.LastKnownELR = nil
		return
	}
	count, writable := x.t.leaderships(x.ref.topic), x.t.image.TakesWrites
	leader := kafka.NoNode
	for _, in := range []func(kafka.NodeID) bool{
		func(n kafka.NodeID) bool { return p.InISR(n) && writable(n) }, p.InISR,
		func(n kafka.NodeID) bool { return p.InELR(n) && writable(n) }, p.InELR,
	} {
		if leader == kafka.NoNode {
			leader = balance.Leader(p.Replicas, func(n kafka.NodeID) bool { return in(n) && x.may(n) }, count)
		}
	}
	if leader == kafka.NoNode && !x.t.c.rules.CleanElection {
		if leader = balance.Leader(p.Replicas, x.may, count); leader != kafka.NoNode {
			x.electUnclean(leader)
			return
		}
	}
	x.lead(leader)
}

// lead makes a member of ISR ∪ ELR the leader, or leaves the partition without one. A leader from the ELR is alone in its
// ISR with those who may lead too: that the former members hold anything is no longer known.
func (x *transition) lead(leader kafka.NodeID) {
	p := x.after
	if leader != kafka.NoNode {
		if !p.InISR(leader) {
			x.setISR(ordered(p.Replicas, append(filter(p.ISR, x.may), leader)))
		}
		p.LastKnownELR = nil
	}
	x.setLeader(leader)
}

// electUnclean makes any replica the leader and its log the truth.
func (x *transition) electUnclean(leader kafka.NodeID) {
	p := x.after
	p.ISR, p.ELR, p.LastKnownELR = []kafka.NodeID{leader}, nil, nil
	p.Recovery, x.unclean = metadata.Recovering, true
	x.setLeader(leader)
}

func (x *transition) setLeader(n kafka.NodeID) {
	if x.after.Leader == n {
		return
	}
	x.t.countLeader(x.t.leadsSoon(x.after), -1)
	x.after.Leader = n
	x.t.countLeader(x.t.leadsSoon(x.after), +1)
	x.raiseEpoch()
}

// raiseEpoch makes the leader epoch the next, once in a transition.
func (x *transition) raiseEpoch() { x.after.LeaderEpoch = x.ref.LeaderEpoch + 1 }

// done is the record of the transition, nil when nothing changed.
func (x *transition) done() *metadata.PartitionChange {
	c, changed := metadata.ChangeOf(x.ref.TopicIDPartition, x.ref.Partition, x.after)
	if !changed {
		return nil
	}
	if x.unclean {
		c.Fields |= metadata.SetRecovery
		c.Recovery = metadata.Recovering
	}
	return c
}

// finish adds the record of the transition to records, and is the partition that it makes.
func (x *transition) finish(records *[]metadata.Record) *metadata.Partition {
	if c := x.done(); c != nil {
		*records = append(*records, c)
		x.after.Epoch++
	}
	return x.after
}

// leaderships counts what each broker leads or will soon, of the cluster by one walk over the image for a whole turn, and of
// the topic in hand.
func (t *turn) leaderships(topic *metadata.Topic) func(kafka.NodeID) balance.Leaderships {
	if t.ofCluster == nil {
		t.ofCluster = map[kafka.NodeID]int{}
		for topic := range t.image.Topics() {
			t.countLeaders(topic, t.ofCluster)
		}
	}
	if t.topic != topic {
		t.topic, t.ofTopic = topic, map[kafka.NodeID]int{}
		t.countLeaders(topic, t.ofTopic)
	}
	return func(n kafka.NodeID) balance.Leaderships {
		return balance.Leaderships{OfTopic: t.ofTopic[n], OfCluster: t.ofCluster[n]}
	}
}

func (t *turn) countLeaders(topic *metadata.Topic, counts map[kafka.NodeID]int) {
	for _, p := range topic.Partitions() {
		counts[t.leadsSoon(p)]++
	}
}

// leadsSoon is the preferred replica where it takes writes, since it is given the leadership back; else the leader. If a broker
// that has just started counted as leading nothing, it would be given the partitions of one that dies then, and its own
// on top.
func (t *turn) leadsSoon(p *metadata.Partition) kafka.NodeID {
	if preferred := p.Replicas[0]; !t.c.options.RebalanceDisabled && t.image.TakesWrites(preferred) {
		return preferred
	}
	return p.Leader
}

// countLeader keeps the counts current within a turn.
func (t *turn) countLeader(n kafka.NodeID, by int) {
	if t.ofCluster != nil {
		t.ofCluster[n] += by
		t.ofTopic[n] += by
	}
}

func without(list []kafka.NodeID, n kafka.NodeID) []kafka.NodeID {
	return filter(list, func(m kafka.NodeID) bool { return m != n })
}

// filter is a new list, nil when nothing is left.
func filter(list []kafka.NodeID, keep func(kafka.NodeID) bool) []kafka.NodeID {
	var out []kafka.NodeID
	for _, n := range list {
		if keep(n) {
			out = append(out, n)
		}
	}
	return out
}

// ordered is the members of a set in the order of the replicas.
func ordered(replicas, set []kafka.NodeID) []kafka.NodeID {
	return filter(replicas, func(n kafka.NodeID) bool { return slices.Contains(set, n) })
}
