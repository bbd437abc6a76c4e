package metactl

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// createPartitions answers CreatePartitions (37), versions 0 to 3, in the order of the request.
func (t *turn) createPartitions(req *kmsg.CreatePartitionsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	times := map[string]int{}
	for _, rt := range req.Topics {
		times[rt.Topic]++
	}
	before, created := *t, 0
	for _, rt := range req.Topics {
		var r *refusal
		switch times[rt.Topic] {
		case 0: // answered
			continue
		case 1:
			r = t.grow(rt, &created)
		default:
			r = refused(kafka.InvalidRequest, "The request has topic %q more than once.", rt.Topic)
			times[rt.Topic] = 0
		}
		resp.Topics = append(resp.Topics, createdPartitions(rt.Topic, r))
	}
	if req.ValidateOnly {
		*t = before
	}
	return resp
}

func (t *turn) grow(rt kmsg.CreatePartitionsRequestTopic, created *int) *refusal {
	topic := t.image.TopicByName(rt.Topic)
	if topic == nil {
		return refused(kafka.UnknownTopicOrPartition, "Topic '%s' does not exist.", rt.Topic)
	}
	now := topic.NumPartitions()
	if rt.Count <= now {
		return refused(kafka.InvalidPartitions, "Topic '%s' has %d partitions; it can only grow, and %d are asked for.", rt.Topic, now, rt.Count)
	}
	added := int(rt.Count - now)
	if *created+added > maxNewPartitions {
		return refused(kafka.PolicyViolation, "One request can create at most %d partitions.", maxNewPartitions)
	}
	replicas := topic.Partition(0).Factor()
	var assignment [][]kafka.NodeID
	if rt.Assignment != nil {
		if len(rt.Assignment) != added {
			return refused(kafka.InvalidReplicaAssignment, "The assignment is for %d partitions, %d are to be added.", len(rt.Assignment), added)
		}
		for _, a := range rt.Assignment {
			assignment = append(assignment, nodes(a.Replicas))
		}
		if r := t.judgeAssignment(assignment, int(now), replicas); r != nil {
			return r
		}
	} else {
		var existing [][]kafka.NodeID
		for _, p := range topic.Partitions() {
			existing = append(existing, p.Replicas)
		}
		var r *refusal
		if assignment, r = t.place(added, replicas, existing); r != nil {
			return r
		}
	}
	*created += added
	var records []metadata.Record
	for i, list := range assignment {
		records = append(records, t.newPartition(topic.ID, now+int32(i), list))
	}
	t.add(records...)
	return nil
}

func createdPartitions(topic string, r *refusal) kmsg.CreatePartitionsResponseTopic {
	out := kmsg.NewCreatePartitionsResponseTopic()
	out.Topic = topic
	out.ErrorCode, out.ErrorMessage = r.fields()
	return out
}
