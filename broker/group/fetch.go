package group

import (
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetFetch, key 9, versions 1 to 10, in the form of version 8 and later: groups, and in each topic the name and, if it
// is known, the id. The caller turns the older forms into this one.
//
//	v2   no topics: all topics of the group that have an offset
//	v5   leader epoch (KIP-320)
//	v7   require stable offsets (KIP-447): without transactions every offset is stable
//	v8   several groups (KIP-709)
//	v9   member id and epoch (KIP-848): classic groups do not check them
//	v10  topic ids
//
// A partition without an offset has offset -1, epoch -1, empty metadata and no error, in a group that does not exist too.
// An offset of another life of the topic than the one asked for is none.
func (m *Machine) fetch(t Ticket, req *kmsg.OffsetFetchRequest) {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	for i := range req.Groups {
		rg := kmsg.NewOffsetFetchResponseGroup()
		rg.Group = req.Groups[i].Group
		rg.Topics = m.fetchGroup(rg.Group, req.Groups[i].Topics)
		resp.Groups = append(resp.Groups, rg)
	}
	m.answer(t, resp)
}

// fetchGroup gives the offsets of the wanted partitions in the order asked; all, in order of topic and partition, if
// wanted is nil.
func (m *Machine) fetchGroup(id string, wanted []kmsg.OffsetFetchRequestGroupTopic) []kmsg.OffsetFetchResponseGroupTopic {
	var committed offsets
	if g := m.groups[id]; g != nil {
		committed = g.offsets
	}
	topics := []kmsg.OffsetFetchResponseGroupTopic{}
	if wanted == nil {
		for _, topic := range slices.Sorted(maps.Keys(committed)) {
			rt := kmsg.NewOffsetFetchResponseGroupTopic()
			rt.Topic = topic
			parts := committed[topic]
			for _, p := range slices.Sorted(maps.Keys(parts)) {
				rt.TopicID = parts[p].topicID
				rt.Partitions = append(rt.Partitions, fetched(p, parts[p]))
			}
			topics = append(topics, rt)
		}
		return topics
	}
	for i := range wanted {
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		rt.Topic, rt.TopicID = wanted[i].Topic, wanted[i].TopicID
		for _, p := range wanted[i].Partitions {
			o, ok := committed[rt.Topic][p]
			if !ok || otherLife(o.topicID, rt.TopicID) {
				o = offset{offset: kafka.NoOffset, leaderEpoch: kafka.NoLeaderEpoch}
			}
			rt.Partitions = append(rt.Partitions, fetched(p, o))
		}
		topics = append(topics, rt)
	}
	return topics
}

func fetched(partition int32, o offset) kmsg.OffsetFetchResponseGroupTopicPartition {
	rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	rp.Partition, rp.Offset, rp.LeaderEpoch = partition, int64(o.offset), int32(o.leaderEpoch)
	rp.Metadata = kmsg.StringPtr(o.metadata)
	return rp
}

// otherLife tells that the two ids are of different lives of one topic name. The zero id is of any.
func otherLife(a, b kafka.TopicID) bool { return !a.IsZero() && !b.IsZero() && a != b }
