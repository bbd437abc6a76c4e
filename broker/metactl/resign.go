package metactl

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A replica whose log failed holds nothing any more, though its broker is in service: it resigns. It asks by AlterPartition for
// the ISR of the image without itself, as leader or as any other member of ISR ∪ ELR, again and again until it is in neither.
// Then it can be elected no more, and its leader takes it back only when it has fetched again, which it does after a restart.
//
// The last one that could lead stays where it is, and nothing is given up, unless the topic allows unclean elections: then its
// partition waits for the ends of the other logs (see recovery).

// resigns tells whether a replica asks to be out of ISR and ELR, and for nothing else.
func resigns(n kafka.NodeID, p *metadata.Partition, isr []kmsg.AlterPartitionRequestTopicPartitionNewEpochISR) bool {
	if !p.InISR(n) && !p.InELR(n) {
		return false
	}
	asked := make([]kafka.NodeID, len(isr))
	for i, m := range isr {
		asked[i] = kafka.NodeID(m.BrokerID)
	}
	rest := without(p.ISR, n)
	return len(asked) == len(rest) && slices.Equal(ordered(p.Replicas, asked), rest)
}

// resign takes a replica out of ISR and ELR as after an unclean stop, and elects another leader where it led.
func (t *turn) resign(n kafka.NodeID, ref partitionRef) (metadata.Partition, []metadata.Record, kafka.ErrorCode) {
	mayLead := func(o kafka.NodeID) bool { return o != n && (ref.InISR(o) || ref.InELR(o)) && t.image.Eligible(o) }
	unclean := len(ref.Replicas) > 1 && t.uncleanAllowed(ref.topic.Name)
	if !unclean && !slices.ContainsFunc(ref.Replicas, mayLead) {
		return metadata.Partition{}, nil, kafka.InvalidRequest
	}
	x := t.change(ref, nil)
	x.lose(n, true)
	x.settle()
	if x.after.Leader == kafka.NoNode {
		x.recover()
	}
	var records []metadata.Record
	after := x.finish(&records)
	if after.LeaderEpoch != ref.LeaderEpoch {
		return metadata.Partition{}, records, kafka.NewLeaderElected
	}
	return *after, records, kafka.None
}
