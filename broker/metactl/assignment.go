package metactl

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/balance"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// place lets balance choose the replicas of new partitions; existing are those of a topic that grows.
func (t *turn) place(partitions, replicas int, existing [][]kafka.NodeID) ([][]kafka.NodeID, *refusal) {
	p := balance.Placement{Partitions: partitions, Replicas: replicas, Existing: existing, Start: t.rnd.Uint64()}
	may := t.firstChoice()
	for b := range t.image.Brokers() {
		p.Brokers = append(p.Brokers, balance.Broker{ID: b.ID, Rack: b.Rack, Fenced: !may(b.ID)})
	}
	out, ok := balance.Place(p)
	if !ok {
		serving := 0
		for _, b := range p.Brokers {
			if !b.Fenced {
				serving++
			}
		}
		return nil, refused(kafka.InvalidReplicationFactor,
			"Replication factor %d is not possible with %d registered brokers, of which %d serve.", replicas, len(p.Brokers), serving)
	}
	return out, nil
}

// judgeAssignment checks replicas that a client placed by hand. replicas is how many each partition must have, 0 for as
// many as the first.
func (t *turn) judgeAssignment(assignment [][]kafka.NodeID, first int, replicas int) *refusal {
	const code = kafka.InvalidReplicaAssignment
	for i, list := range assignment {
		n := first + i
		if len(list) == 0 {
			return refused(code, "The assignment of partition %d has no replicas.", n)
		}
		if replicas == 0 {
			replicas = len(list)
		}
		if len(list) != replicas {
			return refused(code, "The assignment of partition %d has %d replicas, others have %d.", n, len(list), replicas)
		}
		for j, id := range list {
			if slices.Contains(list[:j], id) {
				return refused(code, "The assignment of partition %d names broker %d twice.", n, id)
			}
			if t.image.Broker(id) == nil {
				return refused(code, "The assignment of partition %d names broker %d, which is not registered.", n, id)
			}
		}
		if !slices.ContainsFunc(list, t.image.Eligible) {
			return refused(code, "All brokers in the assignment of partition %d are fenced or stopping.", n)
		}
	}
	return nil
}

// newPartition is the first state of a partition: in sync are the replicas that can be.
func (t *turn) newPartition(id kafka.TopicID, n int32, replicas []kafka.NodeID) *metadata.PartitionRecord {
	isr := filter(replicas, t.image.TakesWrites)
	if len(isr) == 0 {
		isr = filter(replicas, t.image.Eligible)
	}
	return &metadata.PartitionRecord{TopicID: id, Number: n, Partition: metadata.Partition{
		Replicas: replicas, ISR: isr, Leader: isr[0],
	}}
}
