package metactl

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// move TOPIC-N [to=0,1] [same-factor] [twice]; without to, the running move is cancelled.
func (s *script) move() string {
	topic, n := s.names(s.args[0])
	req := moveRequest(topic, n, nil)
	p := &req.Topics[0].Partitions[0]
	if to, ok := s.opts["to"]; ok {
		p.Replicas = lists(to)[0]
	}
	req.AllowReplicationFactorChange = !s.has("same-factor")
	if s.has("twice") {
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, *p)
	}
	out := ""
	for _, rp := range decide[*kmsg.AlterPartitionAssignmentsResponse](s.world, req).Topics[0].Partitions {
		out += codeAndMessage(rp.ErrorCode, rp.ErrorMessage)
	}
	return out
}

func moveRequest(topic string, partition int32, replicas []int32) *kmsg.AlterPartitionAssignmentsRequest {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Version = 1
	rt := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	rp.Partition, rp.Replicas = partition, replicas
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

// moves [TOPIC-N...]
func (s *script) moves() string {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	for _, a := range s.args {
		topic, n := s.names(a)
		rt := kmsg.NewListPartitionReassignmentsRequestTopic()
		rt.Topic, rt.Partitions = topic, []int32{n}
		req.Topics = append(req.Topics, rt)
	}
	out := ""
	for _, rt := range decide[*kmsg.ListPartitionReassignmentsResponse](s.world, req).Topics {
		for _, rp := range rt.Partitions {
			out += fmt.Sprintf("%s-%d replicas=%v adding=%v removing=%v\n", rt.Topic, rp.Partition, rp.Replicas, rp.AddingReplicas, rp.RemovingReplicas)
		}
	}
	if out == "" {
		return "none\n"
	}
	return out
}
