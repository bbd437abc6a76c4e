package balance

import "github.com/fairlead-io/fairlead/broker/kafka"

// Leaderships is how many partitions a broker leads.
type Leaderships struct{ OfTopic, OfCluster int }

func (a Leaderships) fewer(b Leaderships) bool {
	return a.OfTopic < b.OfTopic || a.OfTopic == b.OfTopic && a.OfCluster < b.OfCluster
}

// Leader chooses who leads a partition: the preferred replica, which is the first, when it may; else the one of those that may
// that leads the fewest partitions, first of the topic, then of the cluster; the first in the list when several do. That
// keeps leaderships even while a broker is down, also where all its partitions have the same second replica. NoNode when
// none may.
//
// count tells what a broker leads; nil leaves the order of the replicas alone to decide.
func Leader(replicas []kafka.NodeID, may func(kafka.NodeID) bool, count func(kafka.NodeID) Leaderships) kafka.NodeID {
	best, fewest := kafka.NoNode, Leaderships{}
	for i, n := range replicas {
		if !may(n) {
			continue
		}
		if i == 0 || count == nil {
			return n
		}
		if c := count(n); best == kafka.NoNode || c.fewer(fewest) {
			best, fewest = n, c
		}
	}
	return best
}
