package metactl

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// alterPartition answers AlterPartition (56), versions 2 and 3: a leader asks for another ISR. Version 3 gives each member
// with the broker epoch that the leader knows of it (KIP-903).
//
// The checks in order, each with the code that tells the leader what to do:
//
//	the leader's registration is current          STALE_BROKER_EPOCH, for the whole request
//	the topic id is known                         UNKNOWN_TOPIC_ID
//	the partition is known                        UNKNOWN_TOPIC_OR_PARTITION
//	it knows no epoch that this image does not    NOT_CONTROLLER: this controller is behind
//	its leader epoch is current                   FENCED_LEADER_EPOCH
//	it is the leader, or resigns                  INVALID_REQUEST
//	its partition epoch is current                INVALID_UPDATE_VERSION
//	it resigns, and another can lead: resign.go   INVALID_REQUEST
//	the new ISR is a set of replicas with itself  INVALID_REQUEST
//	the recovery state does not go back           INVALID_REQUEST
//	every member is eligible and of this epoch,
//	every new one has space on its disk           INELIGIBLE_REPLICA
//	it neither elects another leader nor ends a
//	move, which raises the leader epoch           NEW_LEADER_ELECTED; the change is made
func (t *turn) alterPartition(req *kmsg.AlterPartitionRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.AlterPartitionResponse)
	node := kafka.NodeID(req.BrokerID)
	if b := t.image.Broker(node); b == nil || t.c.rules.StaleBrokerEpochs && b.Epoch != kafka.BrokerEpoch(req.BrokerEpoch) {
		resp.ErrorCode = int16(kafka.StaleBrokerEpoch)
		return resp
	}
	var batch []metadata.Record
	seen := map[kafka.TopicIDPartition]bool{}
	for _, rt := range req.Topics {
		out := kmsg.NewAlterPartitionResponseTopic()
		out.Topic, out.TopidID = rt.Topic, rt.TopicID
		for _, rp := range rt.Partitions {
			tp := kafka.TopicIDPartition{TopicID: rt.TopicID, Partition: rp.Partition}
			var records []metadata.Record
			answer, code := metadata.Partition{}, kafka.InvalidRequest
			if !seen[tp] {
				seen[tp] = true
				answer, records, code = t.alterISR(node, tp, rp)
			}
			batch = append(batch, records...)
			out.Partitions = append(out.Partitions, alteredISR(rp.Partition, answer, code))
		}
		resp.Topics = append(resp.Topics, out)
	}
	t.add(batch...)
	return resp
}

// alterISR is the partition after the change, and the records of the change. One that ends a move, or relieves a leader whose
// disk is full, takes two: the leader after it may have joined the ISR only now (P4).
func (t *turn) alterISR(sender kafka.NodeID, tp kafka.TopicIDPartition, rp kmsg.AlterPartitionRequestTopicPartition) (metadata.Partition, []metadata.Record, kafka.ErrorCode) {
	none := metadata.Partition{}
	topic := t.image.TopicByID(tp.TopicID)
	if topic == nil {
		return none, nil, kafka.UnknownTopicID
	}
	if topic.Partition(tp.Partition) == nil {
		return none, nil, kafka.UnknownTopicOrPartition
	}
	ref := refOf(topic, tp.Partition)
	members := rp.NewEpochISR
	for _, n := range rp.NewISR {
		members = append(members, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: n, BrokerEpoch: int64(kafka.NoBrokerEpoch)})
	}
	leaves := resigns(sender, ref.Partition, members)
	if code := t.judgeEpochs(ref, rp, leaves || sender == ref.Leader); code != kafka.None {
		return none, nil, code
	}
	if leaves {
		return t.resign(sender, ref)
	}
	isr, code := t.judgeISR(ref, members, metadata.RecoveryState(rp.LeaderRecoveryState))
	if code != kafka.None {
		return none, nil, code
	}
	x := t.change(ref, nil)
	x.setISR(ordered(ref.Replicas, isr))
	if x.mustShed() { // in the second record, which decides who stays electable
		x.after.ELR = filter(ordered(ref.Replicas, union(ref.ISR, ref.ELR)), notIn(isr))
	}
	x.after.Recovery = metadata.RecoveryState(rp.LeaderRecoveryState)
	x.elect()
	var records []metadata.Record
	after := x.finish(&records)
	if after.Moving() || x.mustShed() {
		x = t.change(partitionRef{topic, tp, after}, nil)
		x.settle()
		after = x.finish(&records)
	}
	if after.Leader != ref.Leader || after.LeaderEpoch != ref.LeaderEpoch {
		return none, records, kafka.NewLeaderElected
	}
	return *after, records, kafka.None
}

// judgeEpochs tells whether a request is of the present state. may tells whether its sender may ask at all.
func (t *turn) judgeEpochs(ref partitionRef, rp kmsg.AlterPartitionRequestTopicPartition, may bool) kafka.ErrorCode {
	check := t.c.rules.AlterEpochs
	leaderEpoch, epoch := kafka.LeaderEpoch(rp.LeaderEpoch), kafka.PartitionEpoch(rp.PartitionEpoch)
	switch {
	case check && (leaderEpoch > ref.LeaderEpoch || epoch > ref.Epoch):
		return kafka.NotController
	case check && leaderEpoch < ref.LeaderEpoch:
		return kafka.FencedLeaderEpoch
	case !may:
		return kafka.InvalidRequest
	case check && epoch < ref.Epoch:
		return kafka.InvalidUpdateVersion
	}
	return kafka.None
}

func (t *turn) judgeISR(ref partitionRef, members []kmsg.AlterPartitionRequestTopicPartitionNewEpochISR, state metadata.RecoveryState) ([]kafka.NodeID, kafka.ErrorCode) {
	rules := t.c.rules
	var isr []kafka.NodeID
	for _, m := range members {
		n := kafka.NodeID(m.BrokerID)
		if !ref.HasReplica(n) || slices.Contains(isr, n) {
			return nil, kafka.InvalidRequest
		}
		isr = append(isr, n)
	}
	switch {
	case !slices.Contains(isr, ref.Leader):
		return nil, kafka.InvalidRequest
	case state != metadata.Recovered && state != metadata.Recovering:
		return nil, kafka.InvalidRequest
	case state == metadata.Recovering && (ref.Recovery == metadata.Recovered || len(isr) > 1):
		return nil, kafka.InvalidRequest
	}
	for _, m := range members {
		b := t.image.Broker(kafka.NodeID(m.BrokerID))
		if b == nil || rules.AlterEligibility && (!b.Eligible() || b.DiskFull && !ref.InISR(b.ID)) ||
			rules.AlterBrokerEpochs && m.BrokerEpoch != int64(kafka.NoBrokerEpoch) && m.BrokerEpoch != int64(b.Epoch) {
			return nil, kafka.IneligibleReplica
		}
	}
	return isr, kafka.None
}

func alteredISR(partition int32, p metadata.Partition, code kafka.ErrorCode) kmsg.AlterPartitionResponseTopicPartition {
	out := kmsg.NewAlterPartitionResponseTopicPartition()
	out.Partition, out.ErrorCode = partition, int16(code)
	if code == kafka.None {
		out.LeaderID, out.LeaderEpoch, out.ISR = int32(p.Leader), int32(p.LeaderEpoch), ids(p.ISR)
		out.LeaderRecoveryState, out.PartitionEpoch = int8(p.Recovery), int32(p.Epoch)
	}
	return out
}
