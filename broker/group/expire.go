package group

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetDelete, key 47, version 0 (KIP-496). The group must have no members.
func (m *Machine) deleteOffsets(now Time, t Ticket, req *kmsg.OffsetDeleteRequest) {
	resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
	g := m.groups[req.Group]
	switch {
	case req.Group == "":
		resp.ErrorCode = int16(kafka.InvalidGroupID)
	case g == nil:
		resp.ErrorCode = int16(kafka.GroupIDNotFound)
	case g.state == Dead:
		resp.ErrorCode = int16(kafka.CoordinatorNotAvailable)
	case g.state != Empty && g.protocolType != consumerProtocol:
		resp.ErrorCode = int16(kafka.NonEmptyGroup)
	}
	if resp.ErrorCode != 0 {
		m.answer(t, resp)
		return
	}
	var records []Record
	for i := range req.Topics {
		rt := kmsg.NewOffsetDeleteResponseTopic()
		rt.Topic = req.Topics[i].Topic
		for _, p := range req.Topics[i].Partitions {
			rp := kmsg.NewOffsetDeleteResponseTopicPartition()
			rp.Partition = p.Partition
			k := kafka.TopicPartition{Topic: rt.Topic, Partition: p.Partition}
			_, has := g.offsets[k.Topic][k.Partition]
			switch {
			case g.subscribed(k.Topic):
				rp.ErrorCode = int16(kafka.GroupSubscribedToTopic)
			case has || g.pendingCommits[k].count > 0:
				records = append(records, offsetTombstone(g.id, k.Topic, k.Partition))
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	if len(records) == 0 {
		m.answer(t, resp)
		return
	}
	m.append(g, records, func(_ Time, code kafka.ErrorCode) {
		if code != kafka.None {
			resp.ErrorCode, resp.Topics = int16(code), nil
		}
		m.answer(t, resp)
	})
}

// subscribed tells whether members consume the topic. When that cannot be known, a group of consumers consumes all.
func (g *group) subscribed(topic string) bool {
	switch {
	case len(g.members) == 0:
		return false
	case g.topics == nil:
		return g.protocolType == consumerProtocol
	}
	return g.topics[topic]
}

// Expire deletes offsets whose retention is over, and groups of which nothing is left. At most limit records are handed
// out; more tells that another call would find more.
//
// Retention of an offset runs from
//
//	the time the group became empty or, if that is later, its commit, in a group that has had members (Kafka: the
//	former alone, so that what an administrator resets in a group that has long been empty is gone at the next pass)
//	its commit, in a group that never had any
//	its commit, in a stable group of consumers that does not subscribe to the topic any more
//
// and an explicit expiry of the commit overrides it. Nothing else expires. An offset that is being committed again, or a
// group with a write on its way, is left for the next time.
func (m *Machine) Expire(now Time, limit int) (more bool) {
	for _, g := range m.sorted() {
		if g.state == Dead || g.writes > 0 {
			continue
		}
		if limit <= 0 {
			return true
		}
		limit -= m.expireGroup(now, g)
	}
	return false
}

func (m *Machine) expireGroup(now Time, g *group) (handedOut int) {
	expired, kept := 0, 0
	for topic, parts := range g.offsets { // in any order: this only counts
		for _, o := range parts {
			if m.isOver(now, g, topic, o) {
				expired++
			} else {
				kept++
			}
		}
	}
	if kept == 0 && g.state == Empty && len(g.pending) == 0 {
		return m.deleteGroup(g, nil)
	}
	if expired == 0 {
		return 0
	}
	var records []Record
	g.offsets.each(func(topic string, p int32, o offset) {
		if m.isOver(now, g, topic, o) {
			records = append(records, offsetTombstone(g.id, topic, p))
		}
	})
	m.append(g, records, nil)
	return len(records)
}

// isOver tells whether the retention of an offset is over; see Expire.
func (m *Machine) isOver(now Time, g *group, topic string, o offset) bool {
	if g.state != Empty && (g.state != Stable || g.topics == nil) || g.subscribed(topic) {
		return false
	}
	if o.expires != kafka.NoTimestamp {
		return now.Wall >= o.expires
	}
	from := o.committed
	if g.state == Empty && g.protocolType != "" {
		from = max(from, g.since)
	}
	return now.Wall-from >= kafka.Timestamp(m.config.Retention.Milliseconds())
}

// DropOffsets deletes the offsets of topics that are gone, those on their way to the log included, at most limit of them;
// more tells that another call would find more. gone is asked with the topic's name and the id that was committed, zero if
// it is not known.
func (m *Machine) DropOffsets(gone func(topic string, id kafka.TopicID) bool, limit int) (more bool) {
	for _, g := range m.sorted() {
		if g.state == Dead {
			continue
		}
		if limit <= 0 {
			return true
		}
		if !g.hasGone(gone) {
			continue
		}
		var records []Record
		g.eachKey(func(k kafka.TopicPartition, id kafka.TopicID) {
			if gone(k.Topic, id) {
				records = append(records, offsetTombstone(g.id, k.Topic, k.Partition))
			}
		})
		if len(records) > 0 {
			m.append(g, records, nil)
			limit -= len(records)
		}
	}
	return false
}

// hasGone tells whether some offset may have to go. It is asked of all groups, so it makes nothing.
func (g *group) hasGone(gone func(topic string, id kafka.TopicID) bool) bool {
	for topic, parts := range g.offsets { // in any order: any of them counts
		var last kafka.TopicID
		asked := false
		for _, o := range parts {
			if asked && o.topicID == last {
				continue
			}
			if gone(topic, o.topicID) {
				return true
			}
			last, asked = o.topicID, true
		}
	}
	for k, p := range g.pendingCommits {
		if gone(k.Topic, p.last) {
			return true
		}
	}
	return false
}
