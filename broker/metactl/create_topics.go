package metactl

import (
	"encoding/binary"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxNewPartitions bounds the partitions that one request creates, as in Kafka: they go into one log entry.
const maxNewPartitions = 10_000

// createTopics answers CreateTopics (19), versions 2 to 7. Each topic is judged by itself, in the order of the request; a
// name that is in it twice gets one refusal. validate_only judges and creates nothing.
//
// v5 counts and settings in the reply (KIP-525); v7 topic ids.
func (t *turn) createTopics(req *kmsg.CreateTopicsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	times := map[string]int{}
	for _, rt := range req.Topics {
		times[rt.Topic]++
	}
	before, created := *t, 0
	for _, rt := range req.Topics {
		switch times[rt.Topic] {
		case 0: // answered
			continue
		case 1:
		default:
			resp.Topics = append(resp.Topics, refusedTopic(rt.Topic, refused(kafka.InvalidRequest, "The request has topic %q more than once.", rt.Topic)))
			times[rt.Topic] = 0
			continue
		}
		plan, refusal := topicPlan{}, (*refusal)(nil)
		if created < maxNewPartitions { // else planning is a waste, and long requests have much of it
			plan, refusal = t.planTopic(rt)
		}
		if refusal == nil && (created == maxNewPartitions || created+len(plan.assignment) > maxNewPartitions) {
			refusal = refused(kafka.PolicyViolation, "One request can create at most %d partitions.", maxNewPartitions)
		}
		if refusal != nil {
			resp.Topics = append(resp.Topics, refusedTopic(rt.Topic, refusal))
			continue
		}
		created += len(plan.assignment)
		resp.Topics = append(resp.Topics, t.createTopic(plan))
	}
	if req.ValidateOnly {
		*t = before
		for i := range resp.Topics {
			resp.Topics[i].TopicID = [16]byte{}
		}
	}
	return resp
}

// topicPlan is a topic that may be created.
type topicPlan struct {
	name       string
	assignment [][]kafka.NodeID
	settings   config.Values
}

func (t *turn) planTopic(rt kmsg.CreateTopicsRequestTopic) (topicPlan, *refusal) {
	plan := topicPlan{name: rt.Topic, settings: config.Values{}}
	if r := refuseName(rt.Topic); r != nil {
		return plan, r
	}
	if t.image.TopicByName(rt.Topic) != nil {
		return plan, refused(kafka.TopicAlreadyExists, "Topic '%s' already exists.", rt.Topic)
	}
	if other := collision(t.image, rt.Topic); other != "" {
		return plan, refused(kafka.InvalidTopicException, "Topic '%s' collides with existing topic '%s': '.' and '_' count as the same.", rt.Topic, other)
	}
	var r *refusal
	if plan.assignment, r = t.assignment(rt); r != nil {
		return plan, r
	}
	for _, c := range rt.Configs {
		if c.Value == nil {
			return plan, refused(kafka.InvalidConfig, "Null value not supported for topic configs: %s", c.Name)
		}
		plan.settings[c.Name] = *c.Value
	}
	layers := t.layers(rt.Topic)
	if r := config.ValidateTopic(plan.settings, layers); r != nil {
		return plan, &refusal{r.Code, r.Message}
	}
	return plan, nil
}

// assignment is the replicas of every partition, as the client placed them or as balance does.
func (t *turn) assignment(rt kmsg.CreateTopicsRequestTopic) ([][]kafka.NodeID, *refusal) {
	if len(rt.ReplicaAssignment) > 0 {
		if rt.NumPartitions != -1 || rt.ReplicationFactor != -1 {
			return nil, refused(kafka.InvalidRequest, "With an assignment, partitions and replication factor must be -1.")
		}
		out := make([][]kafka.NodeID, len(rt.ReplicaAssignment))
		for _, a := range rt.ReplicaAssignment {
			if a.Partition < 0 || int(a.Partition) >= len(out) || out[a.Partition] != nil {
				return nil, refused(kafka.InvalidReplicaAssignment, "The partitions of the assignment are not numbered 0 to %d.", len(out)-1)
			}
			out[a.Partition] = nodes(a.Replicas)
		}
		return out, t.judgeAssignment(out, 0, 0)
	}
	partitions, replicas := rt.NumPartitions, rt.ReplicationFactor
	if partitions == -1 {
		partitions = t.c.options.DefaultPartitions
	}
	if replicas == -1 {
		replicas = t.c.options.DefaultReplicas
	}
	switch {
	case partitions < 1:
		return nil, refused(kafka.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	case partitions > maxNewPartitions:
		return nil, refused(kafka.PolicyViolation, "One request can create at most %d partitions.", maxNewPartitions)
	case replicas < 1:
		return nil, refused(kafka.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	}
	return t.place(int(partitions), int(replicas), nil)
}

// createTopic adds the records of a plan and answers for it.
func (t *turn) createTopic(plan topicPlan) kmsg.CreateTopicsResponseTopic {
	id := t.newTopicID()
	records := []metadata.Record{&metadata.TopicRecord{ID: id, Name: plan.name}}
	for n, replicas := range plan.assignment {
		records = append(records, t.newPartition(id, int32(n), replicas))
	}
	for _, name := range plan.settings.Names() {
		records = append(records, &metadata.ConfigRecord{Resource: metadata.TopicConfig(plan.name), Name: name, Value: plan.settings[name]})
	}
	t.add(records...)

	out := kmsg.NewCreateTopicsResponseTopic()
	out.Topic, out.TopicID = plan.name, id
	out.NumPartitions, out.ReplicationFactor = int32(len(plan.assignment)), int16(len(plan.assignment[0]))
	for _, e := range config.DescribeTopic(t.layers(plan.name)) {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.ReadOnly, c.Source, c.IsSensitive = e.Name, e.Value, e.ReadOnly, int8(e.Source), e.Sensitive
		out.Configs = append(out.Configs, c)
	}
	return out
}

// newTopicID is a random id that no topic has. Like Kafka's it does not begin with '-' in text, which command lines take
// for an option.
func (t *turn) newTopicID() kafka.TopicID {
	for {
		var id kafka.TopicID
		binary.BigEndian.PutUint64(id[:8], t.rnd.Uint64())
		binary.BigEndian.PutUint64(id[8:], t.rnd.Uint64())
		id[6] = id[6]&0x0f | 0x40 // version 4
		id[8] = id[8]&0x3f | 0x80 // variant
		if id.String()[0] != '-' && t.image.TopicByID(id) == nil {
			return id
		}
	}
}

func refusedTopic(name string, r *refusal) kmsg.CreateTopicsResponseTopic {
	out := kmsg.NewCreateTopicsResponseTopic()
	out.Topic, out.NumPartitions, out.ReplicationFactor = name, -1, -1
	out.ErrorCode, out.ErrorMessage = r.fields()
	out.Configs = []kmsg.CreateTopicsResponseTopicConfig{} // null says that the caller may not see them
	return out
}
