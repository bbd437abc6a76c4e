package metactl

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kinds of election, by Kafka's numbers.
const (
	electPreferred int8 = 0
	electUnclean   int8 = 1
)

// electLeaders answers ElectLeaders (43), versions 0 to 2. A null list means every partition; then those that need no
// election are left out of the reply. v1 the kind of election (KIP-460).
func (t *turn) electLeaders(req *kmsg.ElectLeadersRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	if req.ElectionType != electPreferred && req.ElectionType != electUnclean {
		refuseElections(req, resp, refused(kafka.InvalidRequest, "Unknown election type %d", req.ElectionType))
		return resp
	}
	var batch []metadata.Record
	answer := func(out *kmsg.ElectLeadersResponseTopic, n int32, all bool) {
		rec, r := t.electOne(req.ElectionType, out.Topic, n)
		if rec != nil {
			batch = append(batch, rec)
		}
		if all && r != nil && r.code == kafka.ElectionNotNeeded {
			return
		}
		rp := kmsg.NewElectLeadersResponseTopicPartition()
		rp.Partition = n
		rp.ErrorCode, rp.ErrorMessage = r.fields()
		out.Partitions = append(out.Partitions, rp)
	}
	if req.Topics == nil {
		for topic := range t.image.Topics() {
			out := kmsg.ElectLeadersResponseTopic{Topic: topic.Name}
			for n := range topic.Partitions() {
				answer(&out, n, true)
			}
			if len(out.Partitions) > 0 {
				resp.Topics = append(resp.Topics, out)
			}
		}
	}
	seen := map[kafka.TopicPartition]bool{}
	for _, rt := range req.Topics {
		out := kmsg.ElectLeadersResponseTopic{Topic: rt.Topic}
		for _, n := range rt.Partitions {
			if tp := (kafka.TopicPartition{Topic: rt.Topic, Partition: n}); !seen[tp] {
				seen[tp] = true
				answer(&out, n, false)
			}
		}
		resp.Topics = append(resp.Topics, out)
	}
	t.add(batch...)
	return resp
}

// refuseElections refuses the request as a whole and, since that is where clients look, each partition that it names, as often as it does.
func refuseElections(req *kmsg.ElectLeadersRequest, resp *kmsg.ElectLeadersResponse, r *refusal) {
	resp.ErrorCode = int16(r.code)
	for _, rt := range req.Topics {
		out := kmsg.ElectLeadersResponseTopic{Topic: rt.Topic}
		for _, n := range rt.Partitions {
			rp := kmsg.NewElectLeadersResponseTopicPartition()
			rp.Partition = n
			rp.ErrorCode, rp.ErrorMessage = r.fields()
			out.Partitions = append(out.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, out)
	}
}

func (t *turn) electOne(kind int8, name string, n int32) (*metadata.PartitionChange, *refusal) {
	topic := t.image.TopicByName(name)
	if topic == nil || topic.Partition(n) == nil {
		return nil, refused(kafka.UnknownTopicOrPartition, "No such partition: %s-%d.", name, n)
	}
	ref := refOf(topic, n)
	x := t.change(ref, nil)
	if kind == electPreferred {
		preferred := ref.Replicas[0]
		switch {
		case ref.Leader == preferred:
			return nil, refused(kafka.ElectionNotNeeded, "The preferred replica leads already.")
		case !ref.InISR(preferred) || !t.image.TakesWrites(preferred):
			return nil, refused(kafka.PreferredLeaderNotAvailable, "The preferred replica %d is not in sync or not available.", preferred)
		}
		x.lead(preferred)
		return x.done(), nil
	}
	if ref.Leader != kafka.NoNode {
		return nil, refused(kafka.ElectionNotNeeded, "The partition has a leader.")
	}
	if x.elect(); x.after.Leader == kafka.NoNode {
		t.recovery(ref).allowed = true
		x.recover()
	}
	if x.after.Leader == kafka.NoNode {
		return nil, refused(kafka.EligibleLeadersNotAvailable,
			"No replica has reported the end of its log yet, or some have not: the election follows when they have, or %v after the first.", t.c.options.RecoveryBound)
	}
	return x.done(), nil
}
