package metactl

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// reassign answers AlterPartitionReassignments (45), versions 0 and 1: other replicas for partitions, or, with null for
// replicas, the end of a running move. v1 the flag that allows another replication factor (KIP-860); before, it is allowed.
//
//	the topic and the partition exist               UNKNOWN_TOPIC_OR_PARTITION
//	the request names the partition once            INVALID_REQUEST
//	a move runs, to be cancelled                    NO_REASSIGNMENT_IN_PROGRESS
//	the original replicas can do without the added  INVALID_REPLICA_ASSIGNMENT, of a cancel
//	the target is a set of registered brokers       INVALID_REPLICA_ASSIGNMENT
//	it is as many as now, or may be another number  INVALID_REPLICATION_FACTOR
func (t *turn) reassign(req *kmsg.AlterPartitionAssignmentsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	resp.AllowReplicationFactorChange = req.AllowReplicationFactorChange
	var batch []metadata.Record
	seen := map[kafka.TopicPartition]bool{}
	for _, rt := range req.Topics {
		out := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		out.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			tp := kafka.TopicPartition{Topic: rt.Topic, Partition: rp.Partition}
			rec, r := (*metadata.PartitionChange)(nil), refused(kafka.InvalidRequest, "The request names partition %v more than once.", tp)
			if !seen[tp] {
				seen[tp] = true
				rec, r = t.reassignOne(tp, rp.Replicas, req.AllowReplicationFactorChange)
			}
			if rec != nil {
				batch = append(batch, rec)
			}
			out.Partitions = append(out.Partitions, reassigned(rp.Partition, r))
		}
		resp.Topics = append(resp.Topics, out)
	}
	t.add(batch...)
	return resp
}

func (t *turn) reassignOne(tp kafka.TopicPartition, replicas []int32, otherFactor bool) (*metadata.PartitionChange, *refusal) {
	topic := t.image.TopicByName(tp.Topic)
	if topic == nil || topic.Partition(tp.Partition) == nil {
		return nil, refused(kafka.UnknownTopicOrPartition, "No such partition: %v.", tp)
	}
	ref := refOf(topic, tp.Partition)
	x := t.change(ref, nil)
	if replicas == nil {
		if !ref.Moving() {
			return nil, refused(kafka.NoReassignmentInProgress, "No move of the replicas of %v is under way.", tp)
		}
		if !x.moveBack() {
			return nil, refused(kafka.InvalidReplicaAssignment,
				"The original replicas %v of %v are not in sync or not available: without those that the move added, records or the leader would be lost.",
				ref.Original(), tp)
		}
		return x.done(), nil
	}
	target := nodes(replicas)
	if r := t.judgeTarget(tp, target); r != nil {
		return nil, r
	}
	if now := len(ref.Target()); !otherFactor && len(target) != now {
		return nil, refused(kafka.InvalidReplicationFactor, "The replication factor of %v is %d and must not change, but %d replicas are asked for.", tp, now, len(target))
	}
	x.moveTo(target)
	return x.done(), nil
}

// judgeTarget checks where replicas shall go. That a broker is in service is not asked for: a move to one that is just being
// restarted waits for it.
func (t *turn) judgeTarget(tp kafka.TopicPartition, target []kafka.NodeID) *refusal {
	const code = kafka.InvalidReplicaAssignment
	if len(target) == 0 {
		return refused(code, "The list of replicas of %v is empty.", tp)
	}
	for i, n := range target {
		if slices.Contains(target[:i], n) {
			return refused(code, "The replicas of %v name broker %d twice.", tp, n)
		}
		if t.image.Broker(n) == nil {
			return refused(code, "The replicas of %v name broker %d, which is not registered.", tp, n)
		}
	}
	return nil
}

func reassigned(partition int32, r *refusal) kmsg.AlterPartitionAssignmentsResponseTopicPartition {
	out := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
	out.Partition = partition
	out.ErrorCode, out.ErrorMessage = r.fields()
	return out
}

// listReassignments answers ListPartitionReassignments (46), version 0: the running moves, of all partitions when the request
// names no topics. Partitions that do not exist or do not move are left out.
func (t *turn) listReassignments(req *kmsg.ListPartitionReassignmentsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	list := func(out *kmsg.ListPartitionReassignmentsResponseTopic, n int32, p *metadata.Partition) {
		if p == nil || !p.Moving() {
			return
		}
		rp := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
		rp.Partition, rp.Replicas, rp.AddingReplicas, rp.RemovingReplicas = n, ids(p.Replicas), ids(p.Adding), ids(p.Removing)
		out.Partitions = append(out.Partitions, rp)
	}
	if req.Topics == nil {
		for topic := range t.image.Topics() {
			out := kmsg.ListPartitionReassignmentsResponseTopic{Topic: topic.Name}
			for n, p := range topic.Partitions() {
				list(&out, n, p)
			}
			if len(out.Partitions) > 0 {
				resp.Topics = append(resp.Topics, out)
			}
		}
	}
	for _, rt := range req.Topics {
		out := kmsg.ListPartitionReassignmentsResponseTopic{Topic: rt.Topic}
		if topic := t.image.TopicByName(rt.Topic); topic != nil {
			for _, n := range rt.Partitions {
				list(&out, n, topic.Partition(n))
			}
		}
		if len(out.Partitions) > 0 {
			resp.Topics = append(resp.Topics, out)
		}
	}
	return resp
}
