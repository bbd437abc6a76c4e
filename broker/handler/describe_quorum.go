package handler

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/quorum"
)

// metadataTopicName is how Kafka's tools call the quorum's log.
const metadataTopicName = "__cluster_metadata"

// describeQuorumWait bounds the wait for the quorum's leader, which alone knows the others' progress.
const describeQuorumWait = 5 * time.Second

// describeQuorum answers DescribeQuorum 0 to 2 (v1 times, v2 directories and endpoints) for __cluster_metadata-0. The quorum
// is not KRaft's, but what the tools show of it means the same: epoch is the Raft term, offsets are log indexes.
func (h *Handler) describeQuorum(c *call, r kmsg.Request) *conn.Reply {
	req := r.(*kmsg.DescribeQuorumRequest)
	if h.Controller.Status().Leading {
		return c.answer(DescribeQuorum(h.Controller.Status(), c.image, h.Clock, req))
	}
	return c.later(describeQuorumWait, func(ctx context.Context) kmsg.Response {
		req.SetVersion(req.MaxVersion())
		resp, err := h.Controller.Do(ctx, req)
		if err != nil {
			code, message := controllerFailure(err)
			refusal := kmsg.NewPtrDescribeQuorumResponse()
			refusal.ErrorCode, refusal.ErrorMessage = int16(code), &message
			return refusal
		}
		return resp
	})
}

// NewDescribeQuorumRequest asks for what DescribeQuorum tells.
func NewDescribeQuorumRequest() *kmsg.DescribeQuorumRequest {
	p := kmsg.NewDescribeQuorumRequestTopicPartition()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic, t.Partitions = metadataTopicName, append(t.Partitions, p)
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.SetVersion(req.MaxVersion())
	req.Topics = append(req.Topics, t)
	return req
}

// DescribeQuorum is the leader's answer.
func DescribeQuorum(s quorum.Status, image *metadata.Image, clock Clock, req *kmsg.DescribeQuorumRequest) *kmsg.DescribeQuorumResponse {
	if !asksForMetadata(req) {
		return refuseQuorum(req)
	}
	resp := kmsg.NewPtrDescribeQuorumResponse()
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = int32(s.Leader), int32(s.Epoch), int64(s.HighWatermark)
	for _, v := range s.Voters {
		p.CurrentVoters = append(p.CurrentVoters, quorumMember(v, s, clock))
	}
	for _, o := range s.Observers {
		p.Observers = append(p.Observers, quorumMember(o, s, clock))
	}
	rt := kmsg.NewDescribeQuorumResponseTopic()
	rt.Topic, rt.Partitions = metadataTopicName, append(rt.Partitions, p)
	resp.Topics = append(resp.Topics, rt)
	for _, v := range s.Voters {
		node := kmsg.NewDescribeQuorumResponseNode()
		node.NodeID = int32(v.Node)
		if b := image.Broker(v.Node); b != nil {
			for _, e := range b.Endpoints {
				l := kmsg.NewDescribeQuorumResponseNodeListener()
				l.Name, l.Host, l.Port = e.Listener, e.Host, e.Port
				node.Listeners = append(node.Listeners, l)
			}
		}
		resp.Nodes = append(resp.Nodes, node)
	}
	return resp
}

// asksForMetadata tells whether the request names the quorum's partition and nothing else. As in Kafka all else is refused as a whole.
func asksForMetadata(req *kmsg.DescribeQuorumRequest) bool {
	return len(req.Topics) == 1 && req.Topics[0].Topic == metadataTopicName &&
		len(req.Topics[0].Partitions) == 1 && req.Topics[0].Partitions[0].Partition == 0
}

// refuseQuorum answers with UNKNOWN_TOPIC_OR_PARTITION for every partition that is named.
func refuseQuorum(req *kmsg.DescribeQuorumRequest) *kmsg.DescribeQuorumResponse {
	resp := kmsg.NewPtrDescribeQuorumResponse()
	for _, t := range req.Topics {
		rt := kmsg.NewDescribeQuorumResponseTopic()
		rt.Topic = t.Topic
		for _, asked := range t.Partitions {
			p := kmsg.NewDescribeQuorumResponseTopicPartition()
			p.Partition, p.ErrorCode = asked.Partition, int16(kafka.UnknownTopicOrPartition)
			rt.Partitions = append(rt.Partitions, p)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// quorumMember turns the leader's monotonic times into wall times, as the protocol has them.
func quorumMember(r quorum.Replica, s quorum.Status, clock Clock) kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
	m := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	m.ReplicaID, m.ReplicaDirectoryID, m.LogEndOffset = int32(r.Node), r.Directory, int64(r.LogEnd)
	m.LastFetchTimestamp, m.LastCaughtUpTimestamp = wallTime(r.LastFetch, clock), wallTime(r.LastCaughtUp, clock)
	if r.Node == s.Leader {
		now := int64(clock.Wall())
		m.LastFetchTimestamp, m.LastCaughtUpTimestamp = now, now
	}
	return m
}

func wallTime(e kafka.Elapsed, clock Clock) int64 {
	if e < 0 {
		return -1
	}
	return int64(clock.Wall()) - clock.Elapsed().Sub(e).Milliseconds()
}
