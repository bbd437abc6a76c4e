package handler

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// leaderOf is who leads a partition of which this broker has no replica; NoNode when nobody does.
func (v view) leaderOf(topic string, id kafka.TopicID, number int32) partition.Leader {
	t := v.image.TopicByID(id)
	if id.IsZero() {
		t = v.image.TopicByName(topic)
	}
	if t != nil {
		if p := t.Partition(number); p != nil {
			return partition.Leader{ID: p.Leader, Epoch: p.LeaderEpoch}
		}
	}
	return partition.Leader{ID: kafka.NoNode, Epoch: kafka.NoLeaderEpoch}
}

// leaderHints are the brokers that an answer tells clients to try instead (KIP-951), each once.
type leaderHints []wire.Endpoint

func (l *leaderHints) add(v view, n kafka.NodeID) {
	for _, e := range *l {
		if e.Node == n {
			return
		}
	}
	if e, ok := v.endpoint(n); ok {
		*l = append(*l, wire.Endpoint{Node: n, Host: e.Host, Port: int32(e.Port), Rack: v.image.Broker(n).Rack})
	}
}
