package handler

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/coordinator"
)

// creations remembers which topics are being created on behalf of requests, so that a thousand clients that ask for the
// same missing topic cause one command.
type creations struct {
	mu     sync.Mutex
	active map[string]bool // guarded by mu
}

// create asks the controller for topics and returns when it has answered, or the context has ended. Refusals are not told: who
// asks for the topic again is told the state of things then. Topics that another request is creating are left to it.
func (cr *creations) create(ctx context.Context, h *Handler, names []string) {
	mine := cr.claim(names)
	defer cr.release(mine)
	// Whose turn comes when another request has just created it has looked at the cluster before.
	image := h.Images.Current()
	missing := slices.DeleteFunc(slices.Clone(mine), func(name string) bool { return image.TopicByName(name) != nil })
	if len(missing) == 0 {
		return
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(autoCreateWait.Milliseconds())
	for _, name := range missing {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
		if name == coordinator.OffsetsTopic {
			offsetsTopic(h, &t)
		}
		req.Topics = append(req.Topics, t)
	}
	req.SetVersion(req.MaxVersion())
	if _, err := h.Controller.Do(ctx, req); err != nil {
		h.Log.V(1).Info("topic creation on request got no answer", "topics", missing, "error", err.Error())
	}
}

// offsetsTopic gives the topic of committed offsets the shape that Kafka gives it.
func offsetsTopic(h *Handler, t *kmsg.CreateTopicsRequestTopic) {
	s := h.Settings().Group
	t.NumPartitions, t.ReplicationFactor = s.TopicPartitions, s.TopicReplication
	for _, kv := range offsetsTopicSettings(strconv.Itoa(int(s.TopicSegmentBytes)), "producer") {
		rc := kmsg.NewCreateTopicsRequestTopicConfig()
		rc.Name, rc.Value = kv[0], kmsg.StringPtr(kv[1])
		t.Configs = append(t.Configs, rc)
	}
}

func (cr *creations) claim(names []string) []string {
	cr.mu.Lock()
	defer cr.mu.Unlock()
	var mine []string
	for _, name := range names {
		if !cr.active[name] {
			if cr.active == nil {
				cr.active = map[string]bool{}
			}
			cr.active[name] = true
			mine = append(mine, name)
		}
	}
	return mine
}

func (cr *creations) release(names []string) {
	cr.mu.Lock()
	defer cr.mu.Unlock()
	for _, name := range names {
		delete(cr.active, name)
	}
}
