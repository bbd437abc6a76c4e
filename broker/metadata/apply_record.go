package metadata

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

func (r *ClusterRecord) apply(e *edit) {
	if e.image.clusterID != "" && e.image.clusterID != r.ClusterID {
		e.violated("cluster %s cannot become %s", e.image.clusterID, r.ClusterID)
	}
	e.image.clusterID = r.ClusterID
}

func (r *FeatureRecord) apply(e *edit) {
	features := slices.DeleteFunc(slices.Clone(e.image.features), func(f Feature) bool { return f.Name == r.Name })
	if r.Level != 0 {
		i, _ := slices.BinarySearchFunc(features, r.Name, compareFeature)
		features = slices.Insert(features, i, Feature{r.Name, r.Level})
	}
	e.image.features = features
}

func (r *RegisterBroker) apply(e *edit) {
	b := r.Broker
	if b.RegisteredAt == 0 {
		b.RegisteredAt = e.image.version
		if b.Epoch < e.image.nextBrokerEpoch {
			e.violated("broker %d registers with epoch %d, but %d is the next", b.ID, b.Epoch, e.image.nextBrokerEpoch)
		}
	}
	e.image.nextBrokerEpoch = max(e.image.nextBrokerEpoch, b.Epoch+1)
	e.image.brokers.Set(int32(b.ID), &b)
	e.brokers[b.ID] = struct{}{}
}

func (r *BrokerChange) apply(e *edit) {
	b := *e.registration(r.ID, r.Epoch)
	b.Fenced, b.ControlledShutdown, b.DiskFull = r.Fenced, r.ControlledShutdown, r.DiskFull
	e.image.brokers.Set(int32(b.ID), &b)
	e.brokers[b.ID] = struct{}{}
}

func (r *UnregisterBroker) apply(e *edit) {
	e.registration(r.ID, r.Epoch)
	e.image.brokers.Delete(int32(r.ID))
	e.brokers[r.ID] = struct{}{}
}

func (e *edit) registration(n kafka.NodeID, epoch kafka.BrokerEpoch) *Broker {
	b := e.image.Broker(n)
	if b == nil || b.Epoch != epoch {
		e.violated("broker %d with epoch %d is not registered", n, epoch)
	}
	return b
}

func (r *TopicRecord) apply(e *edit) {
	if e.image.TopicByName(r.Name) != nil || e.image.TopicByID(r.ID) != nil || e.topics[r.ID] != nil {
		e.violated("topic %s with id %v exists", r.Name, r.ID)
	}
	t := &Topic{ID: r.ID, Name: r.Name}
	e.topics[r.ID] = &topicEdit{topic: t}
	e.image.topics.Set(r.Name, t)
	e.image.names.Set(string(r.ID[:]), r.Name)
	e.names[r.Name] = struct{}{}
}

func (r *RemoveTopic) apply(e *edit) {
	te := e.topic(r.ID)
	te.touched = te.touched[:0]
	for n := range int32(te.parts.list.len) {
		te.touched = append(te.touched, n)
	}
	te.dropped = true
	e.image.partitions -= te.parts.list.len
	e.image.topics.Delete(te.topic.Name)
	e.image.names.Delete(string(r.ID[:]))
	e.names[te.topic.Name] = struct{}{}
	res := TopicConfig(te.topic.Name)
	if _, ok := e.image.configs.Delete(res.key()); ok {
		e.configs[res] = struct{}{}
	}
}

func (r *PartitionRecord) apply(e *edit) {
	te := e.topic(r.TopicID)
	if int(r.Number) != te.parts.list.len {
		e.violated("topic %s: partition %d is created where %d is the next", te.topic.Name, r.Number, te.parts.list.len)
	}
	p := r.Partition
	e.check(te, r.Number, nil, &p, nil)
	te.parts.set(int(r.Number), &p)
	e.image.partitions++
	te.touched = append(te.touched, r.Number)
}

func (r *PartitionChange) apply(e *edit) {
	te := e.topic(r.TopicID)
	if r.Number < 0 || int(r.Number) >= te.parts.list.len {
		e.violated("topic %s: partition %d does not exist", te.topic.Name, r.Number)
	}
	before := te.parts.list.at(int(r.Number))
	after := before.Clone()
	after.Epoch++
	r.set(after)
	e.check(te, r.Number, before, after, r)
	te.parts.set(int(r.Number), after)
	te.touched = append(te.touched, r.Number)
}

// set puts the fields of the change into p.
func (r *PartitionChange) set(p *Partition) {
	if r.Fields&SetLeader != 0 {
		p.Leader = r.Leader
		p.LeaderEpoch++
	}
	if r.Fields&SetRecovery != 0 {
		p.Recovery = r.Recovery
	}
	for _, l := range r.lists() {
		if r.Fields&l.field != 0 {
			*l.of(p) = *l.from
		}
	}
}

// ChangeOf is the change that makes after out of before. A leader epoch that rose, or another leader, sets the leader;
// the epochs themselves follow from that. It tells false when nothing is to change.
func ChangeOf(tp kafka.TopicIDPartition, before, after *Partition) (*PartitionChange, bool) {
	r := &PartitionChange{TopicID: tp.TopicID, Number: tp.Partition}
	if before.Leader != after.Leader || before.LeaderEpoch != after.LeaderEpoch {
		r.Fields |= SetLeader
		r.Leader = after.Leader
	}
	if before.Recovery != after.Recovery {
		r.Fields |= SetRecovery
		r.Recovery = after.Recovery
	}
	for _, l := range r.lists() {
		if !slices.Equal(*l.of(before), *l.of(after)) {
			r.Fields |= l.field
			*l.from = *l.of(after)
		}
	}
	return r, r.Fields != 0
}

// nodeList ties a list of a change to its flag and to the list of a partition.
type nodeList struct {
	field PartitionFields
	from  *[]kafka.NodeID
	of    func(*Partition) *[]kafka.NodeID
}

// lists is the table of the lists, in the order of encoding.
func (r *PartitionChange) lists() [6]nodeList {
	return [...]nodeList{
		{SetReplicas, &r.Replicas, func(p *Partition) *[]kafka.NodeID { return &p.Replicas }},
		{SetISR, &r.ISR, func(p *Partition) *[]kafka.NodeID { return &p.ISR }},
		{SetELR, &r.ELR, func(p *Partition) *[]kafka.NodeID { return &p.ELR }},
		{SetLastKnownELR, &r.LastKnownELR, func(p *Partition) *[]kafka.NodeID { return &p.LastKnownELR }},
		{SetAdding, &r.Adding, func(p *Partition) *[]kafka.NodeID { return &p.Adding }},
		{SetRemoving, &r.Removing, func(p *Partition) *[]kafka.NodeID { return &p.Removing }},
	}
}

func (r *ConfigRecord) apply(e *edit) {
	e.configs[r.Resource] = struct{}{}
	now := e.image.Config(r.Resource)
	if r.Remove {
		now = now.without(r.Name)
	} else {
		now = now.with(r.Name, r.Value)
	}
	if len(now) == 0 {
		e.image.configs.Delete(r.Resource.key())
		return
	}
	e.image.configs.Set(r.Resource.key(), now)
}

func (r *ProducerIDsRecord) apply(e *edit) {
	if r.Next < e.image.nextProducerID {
		e.violated("producer ids go back from %d to %d", e.image.nextProducerID, r.Next)
	}
	e.image.nextProducerID = r.Next
}

func (r *BrokerEpochRecord) apply(e *edit) {
	e.image.nextBrokerEpoch = max(e.image.nextBrokerEpoch, r.Next)
}
