package handler

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// maxControllerWait bounds how long a client's request for the controller may wait, whatever time the client gives it.
const maxControllerWait = 60 * time.Second

// forward carries a request to the controller and answers with the controller's answer. When none comes in time, or there is no
// quorum, refuse makes the answer from the code.
func (h *Handler) forward(c *call, req kmsg.Request, timeoutMillis int32, refuse func(kafka.ErrorCode, string) kmsg.Response) *conn.Reply {
	return c.later(clientTimeout(timeoutMillis), func(ctx context.Context) kmsg.Response {
		req.SetVersion(req.MaxVersion())
		resp, err := h.Controller.Do(ctx, req)
		if err != nil {
			code, message := controllerFailure(err)
			return refuse(code, message)
		}
		return resp
	})
}

func clientTimeout(millis int32) time.Duration {
	return min(max(time.Duration(millis)*time.Millisecond, time.Second), maxControllerWait)
}

// controllerFailure is what a client is told when the controller gave no answer: codes that make it try again.
func controllerFailure(err error) (kafka.ErrorCode, string) {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return kafka.RequestTimedOut, "the metadata quorum did not answer in time"
	}
	return kafka.NotController, err.Error()
}

// createTopics answers CreateTopics 2 to 7 (v4 counts of -1 mean the cluster's defaults, v5 effective settings, v7 topic ids).
func (h *Handler) createTopics(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.CreateTopicsRequest)
	return h.forward(c, req, req.TimeoutMillis, func(code kafka.ErrorCode, message string) kmsg.Response {
		resp := kmsg.NewPtrCreateTopicsResponse()
		for _, t := range req.Topics {
			rt := kmsg.NewCreateTopicsResponseTopic()
			rt.Topic, rt.ErrorCode, rt.ErrorMessage, rt.NumPartitions, rt.ReplicationFactor = t.Topic, int16(code), &message, -1, -1
			rt.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	})
}

// deleteTopics answers DeleteTopics 1 to 6 (v6 by topic id).
func (h *Handler) deleteTopics(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.DeleteTopicsRequest)
	for _, name := range req.TopicNames { // before v6; the controller knows the later form alone
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	req.TopicNames = nil // the controller of this very broker gets the request as it is: it would see each topic twice
	return h.forward(c, req, req.TimeoutMillis, func(code kafka.ErrorCode, message string) kmsg.Response {
		resp := kmsg.NewPtrDeleteTopicsResponse()
		for _, t := range req.Topics {
			rt := kmsg.NewDeleteTopicsResponseTopic()
			rt.Topic, rt.TopicID, rt.ErrorCode, rt.ErrorMessage = t.Topic, t.TopicID, int16(code), &message
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	})
}

// createPartitions answers CreatePartitions 0 to 3.
func (h *Handler) createPartitions(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.CreatePartitionsRequest)
	return h.forward(c, req, req.TimeoutMillis, func(code kafka.ErrorCode, message string) kmsg.Response {
		resp := kmsg.NewPtrCreatePartitionsResponse()
		for _, t := range req.Topics {
			rt := kmsg.NewCreatePartitionsResponseTopic()
			rt.Topic, rt.ErrorCode, rt.ErrorMessage = t.Topic, int16(code), &message
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	})
}

// electLeaders answers ElectLeaders 0 to 2 (KIP-460; before v1 only preferred elections; null topics mean all).
func (h *Handler) electLeaders(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.ElectLeadersRequest)
	return h.forward(c, req, req.TimeoutMillis, func(code kafka.ErrorCode, message string) kmsg.Response {
		resp := kmsg.NewPtrElectLeadersResponse()
		resp.ErrorCode = int16(code)
		for _, t := range req.Topics {
			rt := kmsg.NewElectLeadersResponseTopic()
			rt.Topic = t.Topic
			for _, n := range t.Partitions {
				p := kmsg.NewElectLeadersResponseTopicPartition()
				p.Partition, p.ErrorCode, p.ErrorMessage = n, int16(code), &message
				rt.Partitions = append(rt.Partitions, p)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	})
}

// reassign answers AlterPartitionReassignments 0 and 1 (KIP-455; v1 may forbid another replication factor, KIP-860; a request of
// v0 decodes as one that allows it).
func (h *Handler) reassign(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.AlterPartitionAssignmentsRequest)
	return h.forward(c, req, req.TimeoutMillis, func(code kafka.ErrorCode, message string) kmsg.Response {
		resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
		resp.ErrorCode, resp.ErrorMessage = int16(code), &message
		return resp
	})
}

// listReassignments answers ListPartitionReassignments 0. The controller answers, so that a move that was just begun or
// cancelled through another broker is seen.
func (h *Handler) listReassignments(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.ListPartitionReassignmentsRequest)
	return h.forward(c, req, req.TimeoutMillis, func(code kafka.ErrorCode, message string) kmsg.Response {
		resp := kmsg.NewPtrListPartitionReassignmentsResponse()
		resp.ErrorCode, resp.ErrorMessage = int16(code), &message
		return resp
	})
}

// controllerTimeout is for requests that carry no time limit of their own.
const controllerTimeout = 30_000

// incrementalAlterConfigs answers IncrementalAlterConfigs 0 and 1 (KIP-339).
func (h *Handler) incrementalAlterConfigs(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.IncrementalAlterConfigsRequest)
	return h.forward(c, req, controllerTimeout, func(code kafka.ErrorCode, message string) kmsg.Response {
		resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
		for _, asked := range req.Resources {
			rr := kmsg.NewIncrementalAlterConfigsResponseResource()
			rr.ResourceType, rr.ResourceName, rr.ErrorCode, rr.ErrorMessage = asked.ResourceType, asked.ResourceName, int16(code), &message
			resp.Resources = append(resp.Resources, rr)
		}
		return resp
	})
}

// alterConfigs answers AlterConfigs 0 to 2: every setting that is not named goes back to its default.
func (h *Handler) alterConfigs(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.AlterConfigsRequest)
	return h.forward(c, req, controllerTimeout, func(code kafka.ErrorCode, message string) kmsg.Response {
		resp := kmsg.NewPtrAlterConfigsResponse()
		for _, asked := range req.Resources {
			rr := kmsg.NewAlterConfigsResponseResource()
			rr.ResourceType, rr.ResourceName, rr.ErrorCode, rr.ErrorMessage = asked.ResourceType, asked.ResourceName, int16(code), &message
			resp.Resources = append(resp.Resources, rr)
		}
		return resp
	})
}

// unregisterBroker answers UnregisterBroker 0. A broker that holds a replica or a vote is not let go.
func (h *Handler) unregisterBroker(c *call, r kmsg.Request) *conn.Reply {
	return h.forward(c, r, controllerTimeout, func(code kafka.ErrorCode, message string) kmsg.Response {
		resp := kmsg.NewPtrUnregisterBrokerResponse()
		resp.ErrorCode, resp.ErrorMessage = int16(code), &message
		return resp
	})
}
