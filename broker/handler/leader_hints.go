package handler

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/wire"
)

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
