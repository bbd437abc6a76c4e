package handler

import (
	"context"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/coordinator"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// Kinds of coordinators in FindCoordinator.
const (
	groupCoordinator       = 0
	transactionCoordinator = 1
)

// offsetsTopicWait bounds the wait of FindCoordinator for the offsets topic that it made come into being.
const offsetsTopicWait = 5 * time.Second

// findCoordinator answers FindCoordinator 0 to 6 (v4 many keys, KIP-699). The first request for a group creates the offsets
// topic and waits for it. Transactions are not served: INVALID_REQUEST, as Kafka says of a kind of coordinator that is
// switched off. Clients repeat COORDINATOR_NOT_AVAILABLE for ever, and end at this one with its message.
func (h *Handler) findCoordinator(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.FindCoordinatorRequest)
	if req.CoordinatorType != groupCoordinator || c.image.TopicByName(coordinator.OffsetsTopic) != nil {
		return c.answer(findCoordinatorResponse(c.view(), req))
	}
	return c.later(offsetsTopicWait, func(ctx context.Context) kmsg.Response {
		names := []string{coordinator.OffsetsTopic}
		h.creations.create(ctx, h, names)
		v := c.view()
		v.image = h.Images.Await(ctx, func(i *metadata.Image) bool { return allLed(i, names) })
		return findCoordinatorResponse(v, req)
	})
}

func findCoordinatorResponse(v view, req *kmsg.FindCoordinatorRequest) *kmsg.FindCoordinatorResponse {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	if req.Version < 4 {
		one := findOne(v, req.CoordinatorType, req.CoordinatorKey)
		if one.ErrorCode == 0 {
			one.ErrorMessage = kmsg.StringPtr(kafka.None.String()) // as Kafka says it here
		}
		resp.ErrorCode, resp.ErrorMessage, resp.NodeID, resp.Host, resp.Port = one.ErrorCode, one.ErrorMessage, one.NodeID, one.Host, one.Port
		return resp
	}
	for _, key := range req.CoordinatorKeys {
		resp.Coordinators = append(resp.Coordinators, findOne(v, req.CoordinatorType, key))
	}
	return resp
}

// findOne finds the leader of the partition that holds a key.
func findOne(v view, kind int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	found := kmsg.NewFindCoordinatorResponseCoordinator()
	found.Key, found.NodeID, found.Port, found.ErrorMessage = key, -1, -1, kmsg.StringPtr("")
	refuse := func(code kafka.ErrorCode, message string) kmsg.FindCoordinatorResponseCoordinator {
		found.ErrorCode, found.ErrorMessage = int16(code), &message
		return found
	}
	switch kind {
	case groupCoordinator:
	case transactionCoordinator:
		return refuse(kafka.InvalidRequest, "transactions are not served")
	default:
		return refuse(kafka.InvalidRequest, "unknown coordinator type "+strconv.Itoa(int(kind)))
	}
	t := v.image.TopicByName(coordinator.OffsetsTopic)
	if t == nil {
		return refuse(kafka.CoordinatorNotAvailable, coordinator.OffsetsTopic+" is not there yet")
	}
	p := t.Partition(coordinator.PartitionFor(key, t.NumPartitions()))
	e, ok := v.endpoint(p.Leader)
	if !ok {
		return refuse(kafka.CoordinatorNotAvailable, "the coordinator's partition has no leader")
	}
	found.NodeID, found.Host, found.Port = int32(p.Leader), e.Host, int32(e.Port)
	return found
}
