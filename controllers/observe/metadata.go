package observe

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/fairlead-io/fairlead/controllers/brokerclient"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
)

// readMetadata asks for what the metadata say of brokers and partitions. Settings are asked of those topics alone that need them.
func readMetadata(ctx context.Context, k Kafka) (cluster.Metadata, error) {
	registered, err := k.Registered(ctx)
	if err != nil {
		return cluster.Metadata{}, err
	}
	voters, err := k.Voters(ctx)
	if err != nil {
		return cluster.Metadata{}, err
	}
	topics, err := k.Topics(ctx)
	if err != nil {
		return cluster.Metadata{}, err
	}
	minISR := map[string]int{}
	if short := underReplicated(topics); len(short) > 0 {
		if minISR, err = k.MinISR(ctx, short...); err != nil {
			return cluster.Metadata{}, err
		}
	}
	m := summary(topics, minISR)
	for _, b := range registered {
		m.Registered = append(m.Registered, b.ID)
	}
	m.Voters = slices.Compact(voters)
	return m, nil
}

// underReplicated are the topics of which some partition has fewer in-sync replicas than replicas, by name.
func underReplicated(topics map[string]brokerclient.Topic) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		if slices.ContainsFunc(topics[name].Partitions, short) {
			names = append(names, name)
		}
	}
	return names
}

func short(p brokerclient.Partition) bool { return len(p.ISR) < len(p.Replicas) }

// summary counts partitions and replicas. A topic that is not in minISR went away while it was asked about. Below min.insync.replicas are those
// partitions alone that also lack replicas: one with all its few replicas in sync has nothing that could come back.
func summary(topics map[string]brokerclient.Topic, minISR map[string]int) cluster.Metadata {
	m := cluster.Metadata{Replicas: map[int32]int{}}
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		for i, p := range topics[name].Partitions {
			m.Partitions++
			for _, id := range p.Replicas {
				m.Replicas[id]++
			}
			where := name + "-" + strconv.Itoa(i)
			if p.Leader < 0 {
				count(&m.Offline, &m.OfflineExamples, where)
			}
			if short(p) {
				count(&m.UnderReplicated, &m.UnderReplicatedExamples, where)
				if want, known := minISR[name]; known && len(p.ISR) < want {
					count(&m.UnderMinISR, &m.UnderMinISRExamples, where)
				}
			}
		}
	}
	return m
}

func count(n *int, examples *[]string, where string) {
	*n++
	if len(*examples) < cluster.MaxExamples {
		*examples = append(*examples, where)
	}
}
