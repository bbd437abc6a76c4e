package handler

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/coordinator"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// view is the cluster as the clients of one listener see it: brokers that are alive and advertise that listener.
type view struct {
	image    *metadata.Image
	listener string
}

// view is the cluster for the client that sent the request. Followers see the addresses of the internal listener.
func (c *call) view() view { return view{c.image, c.Conn.Listener} }

// endpoint is where the client finds a broker; false when it is fenced, unknown or not on this listener.
func (v view) endpoint(n kafka.NodeID) (metadata.Endpoint, bool) {
	b := v.image.Broker(n)
	if b == nil || b.Fenced {
		return metadata.Endpoint{}, false
	}
	return b.Endpoint(v.listener)
}

// partitionState is one partition for a metadata answer.
type partitionState struct {
	code                                      kafka.ErrorCode
	leader                                    kafka.NodeID
	replicas, isr, offline, elr, lastKnownELR []int32
}

// partition describes a partition. One without a reachable leader has code LEADER_NOT_AVAILABLE, or LISTENER_NOT_FOUND
// when its leader lives but not on this listener, and leader -1.
func (v view) partition(p *metadata.Partition) partitionState {
	s := partitionState{
		leader: p.Leader, replicas: nodes(p.Replicas), isr: nodes(p.ISR),
		elr: nodes(p.ELR), lastKnownELR: nodes(p.LastKnownELR), offline: []int32{},
	}
	for _, n := range p.Replicas {
		if _, ok := v.endpoint(n); !ok {
			s.offline = append(s.offline, int32(n))
		}
	}
	if _, ok := v.endpoint(p.Leader); !ok {
		s.leader, s.code = kafka.NoNode, kafka.LeaderNotAvailable
		if b := v.image.Broker(p.Leader); b != nil && !b.Fenced {
			s.code = kafka.ListenerNotFound
		}
	}
	return s
}

func nodes(ids []kafka.NodeID) []int32 {
	out := make([]int32, len(ids))
	for i, n := range ids {
		out[i] = int32(n)
	}
	return out
}

// isInternal tells whether a topic belongs to the brokers and not to users.
func isInternal(topic string) bool { return slices.Contains(internalTopics, topic) }

var internalTopics = []string{coordinator.OffsetsTopic, "__transaction_state", "__share_group_state"}

// Operations that a principal may do, as bits by Kafka's numbers: all that the kind of resource knows, while there
// is no authorizer.
const (
	clusterOperations int32 = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12 // create .. idempotent write
	topicOperations   int32 = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11
	groupOperations   int32 = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11
	noOperations      int32 = -1 << 31 // the client did not ask
)

func operations(asked bool, all int32) int32 {
	if asked {
		return all
	}
	return noOperations
}

// optional is nil for the empty string.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
