package server

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/handler"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// controllerAPIs are decided by the quorum's leader. On the listener between brokers they are not passed on: who is asked and
// does not lead says so.
var controllerAPIs = []kmsg.Key{
	kmsg.CreateTopics, kmsg.DeleteTopics, kmsg.AlterConfigs, kmsg.CreatePartitions, kmsg.ElectLeaders, kmsg.IncrementalAlterConfigs,
	kmsg.AlterPartitionAssignments, kmsg.ListPartitionReassignments,
	kmsg.DescribeQuorum, kmsg.AlterPartition, kmsg.BrokerRegistration, kmsg.BrokerHeartbeat, kmsg.UnregisterBroker, kmsg.AllocateProducerIDs,
}

// replicaAPIs are what followers ask of leaders.
var replicaAPIs = []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets, kmsg.OffsetForLeaderEpoch, kmsg.ApiVersions}

// internalHandler answers the requests of other brokers.
type internalHandler struct {
	apis       *wire.Set
	controller *controllerClient
	clients    *handler.Handler
	clock      clock
}

func newInternalHandler(c *controllerClient, h *handler.Handler, clk clock) (*internalHandler, error) {
	keys := append([]kmsg.Key{wire.KeyRaft, wire.KeyQuorum, wire.KeyFollowed}, controllerAPIs...)
	set, err := wire.NewSet(append(keys, replicaAPIs...)...)
	if err != nil {
		return nil, fmt.Errorf("make internal handler: %w", err)
	}
	return &internalHandler{apis: set, controller: c, clients: h, clock: clk}, nil
}

// Handle answers one request. See conn.Handler.
func (h *internalHandler) Handle(r *conn.Request) *conn.Reply {
	for _, key := range replicaAPIs {
		if r.Header.Key == key {
			return h.clients.Handle(r)
		}
	}
	if r.Header.Key == wire.KeyRaft {
		m, err := quorum.ParseMessage(r.Body)
		if err != nil {
			return conn.Close(err)
		}
		if err := h.misled(m); err != nil {
			return conn.Close(err)
		}
		h.controller.peers.see(m.From, r.Conn.Remote)
		if m.Join != nil {
			h.controller.peers.note(m.Join.Member.Node, m.Join.Address)
		}
		h.controller.peers.greet(m.From)
		h.controller.quorum.Step(m)
		return conn.None()
	}
	if r.Header.Key == wire.KeyQuorum {
		return h.takeLogEnds(r)
	}
	if r.Header.Key == wire.KeyFollowed {
		version := binary.BigEndian.AppendUint64(nil, h.controller.followed.Current().Version())
		return conn.Answer(wire.AppendResponse(nil, r.Header, wire.NewPrivateResponse(wire.KeyFollowed, version)))
	}
	req, err := wire.DecodeRequest(r.Header, r.Body)
	if err != nil {
		return conn.Close(err)
	}
	return h.decide(r, req)
}

// misled says why a message is not for this broker: its address was another one's, of this cluster or of another. Who connected looks for that
// one anew. Whoever asks to be taken into a cluster that is not his is told so by the quorum instead.
func (h *internalHandler) misled(m quorum.Message) error {
	self, cluster := h.controller.self, h.controller.Status().ClusterID
	switch {
	case m.To != self:
		return fmt.Errorf("message for broker %d came to broker %d", m.To, self)
	case m.Join == nil && m.Cluster != "" && cluster != "" && m.Cluster != cluster:
		return fmt.Errorf("message for cluster %s came to cluster %s", m.Cluster, cluster)
	}
	return nil
}

// takeLogEnds brings a report of log ends to this broker's own node.
func (h *internalHandler) takeLogEnds(r *conn.Request) *conn.Reply {
	req := new(metactl.LogEndsRequest)
	if err := wire.Decode(req, r.Body); err != nil {
		return conn.Close(err)
	}
	reply := conn.Pending()
	h.controller.quorum.Submit(req, func(out any, err error) {
		resp, ok := out.(*metactl.LogEndsResponse)
		if !ok || err != nil {
			resp = &metactl.LogEndsResponse{ErrorCode: int16(kafka.NotController)}
		}
		reply.CompleteFrame(wire.AppendResponse(nil, r.Header, wire.NewPrivateResponse(wire.KeyQuorum, resp.AppendTo(nil))))
	})
	return reply
}

// decide puts a request to this broker's own node. A request that is refused for want of leadership, or that could not be decided,
// is answered by an empty response without index.
func (h *internalHandler) decide(r *conn.Request, req kmsg.Request) *conn.Reply {
	reply := conn.Pending()
	r.Retain() // assignments and the like are views of the request
	answer := func(resp kmsg.Response, ok bool) {
		if ok {
			giveIndex(resp, h.controller.images.Current().Version())
		}
		reply.CompleteFrame(wire.AppendResponse(nil, r.Header, resp))
		r.Release()
	}
	if q, ok := req.(*kmsg.DescribeQuorumRequest); ok {
		s := h.controller.Status()
		answer(handler.DescribeQuorum(s, h.controller.images.Current(), h.clock, q), s.Leading)
		return reply
	}
	h.controller.quorum.Submit(req, func(out any, err error) {
		if resp, ok := out.(kmsg.Response); ok && err == nil {
			answer(resp, true)
			return
		}
		answer(req.ResponseKind(), false)
	})
	return reply
}
