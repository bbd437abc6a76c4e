package group

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetCommit, key 8, versions 2 to 10.
//
//	v2-4  an explicit retention, kept as the record's expiry
//	v6    leader epoch (KIP-320)
//	v7    static members (KIP-345)
//	v9    a group that is not there: GROUP_ID_NOT_FOUND instead of ILLEGAL_GENERATION (KIP-848)
//	v10   topic ids (KIP-848); at any version the caller fills in TopicID if it knows it, and Topic always
//
// Commits of one request are one append. They are shown to OffsetFetch when they are answered, not before (G7).
func (m *Machine) commit(now Time, t Ticket, req *kmsg.OffsetCommitRequest) {
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	g, mb, code := m.checkCommit(req)
	var records []Record
	var keys []kafka.TopicPartition
	var ids []kafka.TopicID
	for i := range req.Topics {
		rt := &req.Topics[i]
		rst := kmsg.NewOffsetCommitResponseTopic()
		rst.Topic, rst.TopicID = rt.Topic, rt.TopicID
		for j := range rt.Partitions {
			rp := &rt.Partitions[j]
			rsp := kmsg.NewOffsetCommitResponseTopicPartition()
			rsp.Partition, rsp.ErrorCode = rp.Partition, int16(code)
			switch {
			case code != kafka.None:
			case rp.Metadata != nil && len(*rp.Metadata) > m.config.MaxMetadataBytes:
				rsp.ErrorCode = int16(kafka.OffsetMetadataTooLarge)
			default:
				records = append(records, offsetRecord(req.Group, rt.Topic, rp.Partition, m.offsetOf(now, req, rt, rp)))
				keys = append(keys, kafka.TopicPartition{Topic: rt.Topic, Partition: rp.Partition})
				ids = append(ids, rt.TopicID)
			}
			rst.Partitions = append(rst.Partitions, rsp)
		}
		resp.Topics = append(resp.Topics, rst)
	}
	if len(records) == 0 {
		m.answer(t, resp)
		return
	}
	if g == nil {
		g = m.newGroup(req.Group)
	}
	if mb != nil && !mb.fresh {
		m.touch(now, mb)
	}
	for i, k := range keys {
		g.pend(k, ids[i])
	}
	f := m.append(g, records, func(_ Time, code kafka.ErrorCode) {
		if code != kafka.None {
			failCommits(resp, code)
		}
		m.answer(t, resp)
	})
	f.commits = keys
}

// checkCommit finds the group and says why a commit is refused. The group may be nil for a commit without a member.
func (m *Machine) checkCommit(req *kmsg.OffsetCommitRequest) (*group, *member, kafka.ErrorCode) {
	const unknownGroupHasCode = 9
	g := m.groups[req.Group]
	switch {
	case g == nil && req.Generation < 0:
		return nil, nil, kafka.None
	case g == nil && req.Version >= unknownGroupHasCode:
		return nil, nil, kafka.GroupIDNotFound
	case g == nil:
		return nil, nil, kafka.IllegalGeneration
	case g.state == Dead:
		return nil, nil, kafka.CoordinatorNotAvailable
	case g.state == Empty && req.Generation < 0:
		return g, nil, kafka.None
	case req.Generation < 0 && req.MemberID == "" && req.InstanceID == nil:
		return nil, nil, kafka.UnknownMemberID
	}
	mb, code := g.check(req.MemberID, req.InstanceID)
	switch {
	case code != kafka.None:
		return nil, nil, code
	case req.Generation != g.generation:
		return nil, nil, kafka.IllegalGeneration
	case g.state == Completing:
		// The member is about to learn its new assignment; what it commits may be another's by now.
		return nil, nil, kafka.RebalanceInProgress
	}
	return g, mb, kafka.None
}

func (m *Machine) offsetOf(now Time, req *kmsg.OffsetCommitRequest, rt *kmsg.OffsetCommitRequestTopic, rp *kmsg.OffsetCommitRequestTopicPartition) offset {
	o := offset{
		offset: kafka.Offset(rp.Offset), leaderEpoch: kafka.LeaderEpoch(rp.LeaderEpoch), committed: now.Wall,
		expires: kafka.NoTimestamp, topicID: rt.TopicID,
	}
	if rp.Metadata != nil {
		o.metadata = *rp.Metadata
	}
	if req.Version <= 4 && req.RetentionTimeMillis >= 0 {
		o.expires = now.Wall + kafka.Timestamp(min(req.RetentionTimeMillis, maxRetentionMillis))
	}
	return o
}

// maxRetentionMillis keeps the expiry of an absurd retention from overflowing.
const maxRetentionMillis = int64(100 * 365 * 24 * time.Hour / time.Millisecond)

// pend notes an offset that is on its way to the log, so that a deletion decided meanwhile reaches it too.
func (g *group) pend(k kafka.TopicPartition, id kafka.TopicID) {
	if g.pendingCommits == nil {
		g.pendingCommits = map[kafka.TopicPartition]pendingCommit{}
	}
	g.pendingCommits[k] = pendingCommit{g.pendingCommits[k].count + 1, id}
}

// unpend says that offsets are in the log, or never will be.
func (g *group) unpend(keys []kafka.TopicPartition) {
	for _, k := range keys {
		if p := g.pendingCommits[k]; p.count > 1 {
			g.pendingCommits[k] = pendingCommit{p.count - 1, p.last}
		} else {
			delete(g.pendingCommits, k)
		}
	}
}

func failCommits(resp *kmsg.OffsetCommitResponse, code kafka.ErrorCode) {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			if p := &resp.Topics[i].Partitions[j]; p.ErrorCode == 0 {
				p.ErrorCode = int16(code)
			}
		}
	}
}
