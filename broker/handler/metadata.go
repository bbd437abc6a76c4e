package handler

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// autoCreateWait bounds the wait of a Metadata request for a topic that it made come into being. Beyond it the answer is
// LEADER_NOT_AVAILABLE and the client asks again.
const autoCreateWait = 2 * time.Second

// metadata answers Metadata 0 to 13.
//
//	v0   an empty list of topics means all; from v1 on null does, and empty means none
//	v4   the client says whether missing topics may be created; before, they may
//	v10  topics by id (KIP-516)
//	v13  a top-level error (KIP-1102); never set here
//
// A topic that is missing, allowed and named well is created, and the answer waits for it: unlike in Kafka, where it
// is always an error first.
func (h *Handler) metadata(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.MetadataRequest)
	missing := h.toCreate(c.image, req)
	if len(missing) == 0 {
		return c.answer(h.metadataResponse(c.view(), req))
	}
	return c.later(autoCreateWait, func(ctx context.Context) kmsg.Response {
		h.creations.create(ctx, h, missing)
		v := c.view()
		v.image = h.Images.Await(ctx, func(i *metadata.Image) bool { return allLed(i, missing) })
		return h.metadataResponse(v, req)
	})
}

// toCreate lists the topics of a request that shall be created for it.
func (h *Handler) toCreate(image *metadata.Image, req *kmsg.MetadataRequest) []string {
	if req.Version >= 4 && !req.AllowAutoTopicCreation || !h.Settings().Create.Auto {
		return nil
	}
	names := map[string]bool{}
	for _, t := range req.Topics {
		if t.Topic != nil && image.TopicByName(*t.Topic) == nil && kafka.ValidTopicName(*t.Topic) {
			names[*t.Topic] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// allLed tells whether all the topics exist and every partition of them has a leader.
func allLed(image *metadata.Image, names []string) bool {
	for _, name := range names {
		t := image.TopicByName(name)
		if t == nil {
			return false
		}
		for _, p := range t.Partitions() {
			if p.Leader == kafka.NoNode {
				return false
			}
		}
	}
	return true
}

func (h *Handler) metadataResponse(v view, req *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	resp := kmsg.NewPtrMetadataResponse()
	resp.ClusterID = kmsg.StringPtr(h.ClusterID())
	resp.ControllerID = int32(h.controllerFor(v))
	resp.AuthorizedOperations = operations(req.IncludeClusterAuthorizedOperations, clusterOperations)
	for b := range v.image.Brokers() {
		if e, ok := v.endpoint(b.ID); ok {
			mb := kmsg.NewMetadataResponseBroker()
			mb.NodeID, mb.Host, mb.Port, mb.Rack = int32(b.ID), e.Host, int32(e.Port), optional(b.Rack)
			resp.Brokers = append(resp.Brokers, mb)
		}
	}
	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 {
		for t := range v.image.Topics() {
			resp.Topics = append(resp.Topics, metadataTopic(v, t, req))
		}
		return resp
	}
	type name struct {
		topic string
		id    kafka.TopicID
	}
	answered := map[name]bool{} // one that is asked for twice is answered once, as in Kafka
	for _, asked := range req.Topics {
		t, answer := h.findTopic(v.image, asked, req)
		key := name{id: asked.TopicID}
		switch {
		case t != nil:
			key = name{topic: t.Name}
		case asked.Topic != nil:
			key = name{topic: *asked.Topic}
		}
		if answered[key] {
			continue
		}
		answered[key] = true
		if t != nil {
			answer = metadataTopic(v, t, req)
		}
		resp.Topics = append(resp.Topics, answer)
	}
	return resp
}

// findTopic finds a topic that was asked for by name or by id, or gives the answer that refuses it.
func (h *Handler) findTopic(image *metadata.Image, asked kmsg.MetadataRequestTopic, req *kmsg.MetadataRequest) (*metadata.Topic, kmsg.MetadataResponseTopic) {
	refusal := kmsg.NewMetadataResponseTopic()
	refusal.AuthorizedOperations = noOperations
	if asked.Topic == nil {
		id := kafka.TopicID(asked.TopicID)
		if t := image.TopicByID(id); t != nil {
			return t, refusal
		}
		refusal.TopicID, refusal.ErrorCode = asked.TopicID, int16(kafka.UnknownTopicID)
		return nil, refusal
	}
	refusal.Topic = asked.Topic
	if !kafka.ValidTopicName(*asked.Topic) {
		refusal.ErrorCode = int16(kafka.InvalidTopicException)
		return nil, refusal
	}
	if t := image.TopicByName(*asked.Topic); t != nil {
		return t, refusal
	}
	refusal.ErrorCode = int16(kafka.UnknownTopicOrPartition)
	if (req.Version < 4 || req.AllowAutoTopicCreation) && h.Settings().Create.Auto {
		refusal.ErrorCode = int16(kafka.LeaderNotAvailable) // it is on its way
	}
	return nil, refusal
}

func metadataTopic(v view, t *metadata.Topic, req *kmsg.MetadataRequest) kmsg.MetadataResponseTopic {
	mt := kmsg.NewMetadataResponseTopic()
	mt.Topic, mt.TopicID, mt.IsInternal = &t.Name, t.ID, isInternal(t.Name)
	mt.AuthorizedOperations = operations(req.IncludeTopicAuthorizedOperations, topicOperations)
	mt.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, t.NumPartitions())
	for n, p := range t.Partitions() {
		s := v.partition(p)
		mp := kmsg.NewMetadataResponseTopicPartition()
		mp.Partition, mp.Leader, mp.LeaderEpoch, mp.ErrorCode = n, int32(s.leader), int32(p.LeaderEpoch), int16(s.code)
		mp.Replicas, mp.ISR, mp.OfflineReplicas = s.replicas, s.isr, s.offline
		mt.Partitions = append(mt.Partitions, mp)
	}
	return mt
}

// controllerFor is the broker that clients shall take for the controller. Every broker forwards what is for the
// controller, so it only matters that the client can reach it.
func (h *Handler) controllerFor(v view) kafka.NodeID {
	leader := h.Controller.Status().Leader
	if _, ok := v.endpoint(leader); ok {
		return leader
	}
	return h.Node
}
