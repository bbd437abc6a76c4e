package metactl

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleteTopics answers DeleteTopics (20), versions 1 to 6, in the order of the request. v6 names topics by name or by id
// (KIP-516).
func (t *turn) deleteTopics(req *kmsg.DeleteTopicsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	requested := deletedTopics(req)
	found, refusals := make([]*metadata.Topic, len(requested)), make([]*refusal, len(requested))
	times := map[*metadata.Topic]int{}
	for i, rt := range requested {
		found[i], refusals[i] = t.findDeleted(rt)
		times[found[i]]++
	}
	for i, rt := range requested {
		r := refusals[i]
		if r == nil && times[found[i]] > 1 {
			r = refused(kafka.InvalidRequest, "The request has topic %s more than once.", found[i].Name)
		}
		if r != nil {
			resp.Topics = append(resp.Topics, notDeleted(rt, r))
			continue
		}
		t.add(&metadata.RemoveTopic{ID: found[i].ID})
		out := kmsg.NewDeleteTopicsResponseTopic()
		out.Topic, out.TopicID = &found[i].Name, found[i].ID
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func (t *turn) findDeleted(rt kmsg.DeleteTopicsRequestTopic) (*metadata.Topic, *refusal) {
	byID := !kafka.TopicID(rt.TopicID).IsZero()
	switch {
	case t.c.options.DeletionDisabled:
		return nil, refused(kafka.TopicDeletionDisabled, "Topic deletion is disabled.")
	case byID == (rt.Topic != nil):
		return nil, refused(kafka.InvalidRequest, "A topic to delete is named by its name or by its id.")
	case byID:
		topic := t.image.TopicByID(rt.TopicID)
		if topic == nil {
			return nil, refused(kafka.UnknownTopicID, "No topic has the id %v.", kafka.TopicID(rt.TopicID))
		}
		return topic, nil
	}
	topic := t.image.TopicByName(*rt.Topic)
	if topic == nil {
		return nil, refused(kafka.UnknownTopicOrPartition, "Topic '%s' does not exist.", *rt.Topic)
	}
	return topic, nil
}

// deletedTopics are the topics of the request, which versions before 6 have as names.
func deletedTopics(req *kmsg.DeleteTopicsRequest) []kmsg.DeleteTopicsRequestTopic {
	out := req.Topics
	for _, name := range req.TopicNames {
		rt := kmsg.NewDeleteTopicsRequestTopic()
		rt.Topic = kmsg.StringPtr(name)
		out = append(out, rt)
	}
	return out
}

func notDeleted(rt kmsg.DeleteTopicsRequestTopic, r *refusal) kmsg.DeleteTopicsResponseTopic {
	out := kmsg.NewDeleteTopicsResponseTopic()
	out.Topic, out.TopicID = rt.Topic, rt.TopicID
	out.ErrorCode, out.ErrorMessage = r.fields()
	return out
}
