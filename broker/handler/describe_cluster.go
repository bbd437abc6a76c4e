package handler

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// brokerEndpoints is the only kind of endpoint that DescribeCluster answers for here: 2, controllers, have no
// listener of their own for clients.
const brokerEndpoints = 1

// describeCluster answers DescribeCluster 0 to 2 (KIP-700; v1 KIP-919; v2 fenced brokers, KIP-1073).
func (h *Handler) describeCluster(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.DescribeClusterRequest)
	resp := kmsg.NewPtrDescribeClusterResponse()
	resp.EndpointType = brokerEndpoints
	if req.Version >= 1 && req.EndpointType != brokerEndpoints {
		code, message := kafka.UnsupportedEndpointType, "Unsupported endpoint type."
		if req.EndpointType == 2 {
			code, message = kafka.MismatchedEndpointType, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
		}
		resp.ErrorCode, resp.ErrorMessage = int16(code), &message
		return c.answer(resp)
	}
	v := c.view()
	resp.ClusterID = h.ClusterID()
	resp.ControllerID = int32(h.controllerFor(v))
	resp.ClusterAuthorizedOperations = operations(req.IncludeClusterAuthorizedOperations, clusterOperations)
	for b := range c.image.Brokers() {
		e, ok := b.Endpoint(v.listener)
		if !ok || b.Fenced && !req.IncludeFencedBrokers {
			continue
		}
		rb := kmsg.NewDescribeClusterResponseBroker()
		rb.NodeID, rb.Host, rb.Port, rb.Rack, rb.IsFenced = int32(b.ID), e.Host, int32(e.Port), optional(b.Rack), b.Fenced
		resp.Brokers = append(resp.Brokers, rb)
	}
	return c.answer(resp)
}
