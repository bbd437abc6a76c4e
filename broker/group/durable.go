package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// saved is a group's last metadata record, decoded. It is not changed, only replaced.
type saved struct {
	kmsg.GroupMetadataValue
}

// offset is one committed offset. It is not changed, only replaced.
type offset struct {
	offset      kafka.Offset
	leaderEpoch kafka.LeaderEpoch // of the last consumed record; NoLeaderEpoch if the client did not say
	metadata    string
	committed   kafka.Timestamp
	expires     kafka.Timestamp // an explicit retention of old clients; NoTimestamp otherwise
	topicID     kafka.TopicID   // zero in records of old versions
}

// offsets of a group, by topic and partition.
type offsets map[string]map[int32]offset

// each visits the offsets in order of topic and partition.
func (os offsets) each(visit func(topic string, partition int32, o offset)) {
	for _, topic := range slices.Sorted(maps.Keys(os)) {
		parts := os[topic]
		for _, p := range slices.Sorted(maps.Keys(parts)) {
			visit(topic, p, parts[p])
		}
	}
}

// Apply changes the durable state by one record, in log order. It is an error only if the record cannot be read, which
// means damage: the caller must not go on as if the record were not there.
// Records of kinds that the machine does not know (KIP-848 groups) are kept out of the way.
func (m *Machine) Apply(r Record) error {
	e, err := decodeRecord(r)
	if err != nil {
		return err
	}
	switch {
	case e.offsetKey != nil:
		m.applyOffset(e)
	case e.groupKey != nil:
		m.applyGroup(e)
	}
	return nil
}

func (m *Machine) applyOffset(e entry) {
	k := e.offsetKey
	if e.offset == nil {
		g := m.groups[k.Group]
		if g == nil {
			return
		}
		delete(g.offsets[k.Topic], k.Partition)
		if len(g.offsets[k.Topic]) == 0 {
			delete(g.offsets, k.Topic)
		}
		m.reapReplayed(g)
		return
	}
	g := m.groupFor(k.Group)
	if g.offsets == nil {
		g.offsets = offsets{}
	}
	parts := g.offsets[k.Topic]
	if parts == nil {
		parts = map[int32]offset{}
		g.offsets[k.Topic] = parts
	}
	parts[k.Partition] = *e.offset
}

func (m *Machine) applyGroup(e entry) {
	if e.group != nil {
		m.groupFor(e.groupKey.Group).saved = e.group
		return
	}
	if g := m.groups[e.groupKey.Group]; g != nil {
		g.saved = nil
		m.reapReplayed(g)
	}
}

// reapReplayed keeps a replay from holding every group that ever was. A live group is reaped by who ends its last use.
func (m *Machine) reapReplayed(g *group) {
	if !m.active {
		m.reap(g)
	}
}

// revive gives a loaded group its soft state.
func (m *Machine) revive(now Time, g *group) {
	s := g.saved
	if s == nil {
		return
	}
	g.generation, g.protocolType = s.Generation, s.ProtocolType
	g.since = kafka.Timestamp(s.CurrentStateTimestamp)
	if len(s.Members) == 0 {
		g.computeTopics()
		return
	}
	g.state = Stable
	if s.Protocol != nil {
		g.protocol = *s.Protocol
	}
	for i := range s.Members {
		sm := &s.Members[i]
		mb := &member{
			id: sm.MemberID, instanceID: sm.InstanceID, clientID: sm.ClientID, clientHost: sm.ClientHost,
			sessionMillis: sm.SessionTimeoutMillis, rebalanceMillis: sm.RebalanceTimeoutMillis,
			assignment: sm.Assignment, synced: true,
		}
		if s.Version == 0 { // has no rebalance timeout
			mb.rebalanceMillis = mb.sessionMillis
		}
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = g.protocol, sm.Subscription
		mb.protocols = []kmsg.JoinGroupRequestProtocol{p}
		g.add(mb)
		m.touch(now, mb)
	}
	if s.Leader != nil {
		g.leader = *s.Leader
	}
	g.computeTopics()
	if len(g.members) > m.config.MaxSize {
		m.prepareRebalance(now, g)
	}
}

// Dump prints the durable state in a fixed order, for tests and for tools: equal text, equal state.
func (m *Machine) Dump() string {
	var b strings.Builder
	for _, g := range m.sorted() {
		if g.saved == nil && len(g.offsets) == 0 {
			continue
		}
		fmt.Fprintf(&b, "group %s\n", g.id)
		if s := g.saved; s != nil {
			fmt.Fprintf(&b, "  generation %d type %q protocol %s leader %s since %d\n",
				s.Generation, s.ProtocolType, orNull(s.Protocol), orNull(s.Leader), s.CurrentStateTimestamp)
			ms := slices.SortedFunc(slices.Values(s.Members), func(a, b kmsg.GroupMetadataValueMember) int {
				return cmp.Compare(a.MemberID, b.MemberID)
			})
			for _, mb := range ms {
				fmt.Fprintf(&b, "  member %s instance %s client %s%s session %d rebalance %d subscription %x assignment %x\n",
					mb.MemberID, orNull(mb.InstanceID), mb.ClientID, mb.ClientHost, mb.SessionTimeoutMillis,
					mb.RebalanceTimeoutMillis, mb.Subscription, mb.Assignment)
			}
		}
		g.offsets.each(func(topic string, p int32, o offset) {
			fmt.Fprintf(&b, "  offset %s-%d %d epoch %d metadata %q at %d", topic, p, o.offset, o.leaderEpoch, o.metadata, o.committed)
			if o.expires != kafka.NoTimestamp {
				fmt.Fprintf(&b, " expires %d", o.expires)
			}
			if !o.topicID.IsZero() {
				fmt.Fprintf(&b, " of %s", o.topicID)
			}
			b.WriteString("\n")
		})
	}
	return b.String()
}

func orNull(s *string) string {
	if s == nil {
		return "null"
	}
	return fmt.Sprintf("%q", *s)
}
