package group

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeGroups, key 15, versions 0 to 6.
//
//	v6  a group that is not there has error GROUP_ID_NOT_FOUND and a message (KIP-1043); before, only the state Dead
//
// Subscriptions are shown in Stable alone: otherwise there is no protocol in force of which they could be.
func (m *Machine) describe(t Ticket, req *kmsg.DescribeGroupsRequest) {
	const notFoundHasCode = 6
	resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
	for _, id := range req.Groups {
		rg := kmsg.NewDescribeGroupsResponseGroup()
		rg.Group = id
		g := m.groups[id]
		if g == nil {
			rg.State = Dead.String()
			if req.Version >= notFoundHasCode {
				rg.ErrorCode = int16(kafka.GroupIDNotFound)
				rg.ErrorMessage = kmsg.StringPtr("Group " + id + " not found.")
			}
			resp.Groups = append(resp.Groups, rg)
			continue
		}
		rg.State, rg.ProtocolType = g.state.String(), g.protocolType
		if g.state == Stable {
			rg.Protocol = g.protocol
		}
		for _, mb := range g.members {
			rm := kmsg.NewDescribeGroupsResponseGroupMember()
			rm.MemberID, rm.InstanceID, rm.ClientID, rm.ClientHost = mb.id, mb.instanceID, mb.clientID, mb.clientHost
			rm.MemberAssignment = mb.assignment
			if g.state == Stable {
				rm.ProtocolMetadata = mb.metadata(g.protocol)
			}
			rg.Members = append(rg.Members, rm)
		}
		resp.Groups = append(resp.Groups, rg)
	}
	m.answer(t, resp)
}

// classicType is the group type of ListGroups from version 5 on.
const classicType = "classic"

// ListGroups, key 16, versions 0 to 5.
//
//	v4  filter by state (KIP-518), in any letter case
//	v5  filter by type (KIP-848)
func (m *Machine) list(t Ticket, req *kmsg.ListGroupsRequest) {
	resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
	var wanted [Dead + 1]bool // what the request filters by is looked through once, not for every group
	for s := range wanted {
		wanted[s] = passes(req.StatesFilter, State(s).String()) && passes(req.TypesFilter, classicType)
	}
	for _, g := range m.sorted() {
		if !wanted[g.state] {
			continue
		}
		rg := kmsg.NewListGroupsResponseGroup()
		rg.Group, rg.ProtocolType, rg.GroupState, rg.GroupType = g.id, g.protocolType, g.state.String(), classicType
		resp.Groups = append(resp.Groups, rg)
	}
	m.answer(t, resp)
}

func passes(filter []string, value string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(s string) bool { return strings.EqualFold(s, value) })
}

// DeleteGroups, key 42, versions 0 to 2. Only groups without members go, with their offsets.
func (m *Machine) deleteGroups(now Time, t Ticket, req *kmsg.DeleteGroupsRequest) {
	resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
	resp.Groups = make([]kmsg.DeleteGroupsResponseGroup, len(req.Groups))
	waiting := 1 // this loop
	done := func() {
		if waiting--; waiting == 0 {
			m.answer(t, resp)
		}
	}
	for i, id := range req.Groups {
		rg := &resp.Groups[i]
		rg.Default()
		rg.Group = id
		g := m.groups[id]
		switch {
		case g == nil:
			rg.ErrorCode = int16(kafka.GroupIDNotFound)
		case g.state == Dead:
			rg.ErrorCode = int16(kafka.CoordinatorNotAvailable)
		case g.state != Empty:
			rg.ErrorCode = int16(kafka.NonEmptyGroup)
		default:
			waiting++
			m.deleteGroup(g, func(code kafka.ErrorCode) {
				rg.ErrorCode = int16(code)
				done()
			})
		}
	}
	done()
}

// deleteGroup writes tombstones for the group and all its offsets, those on their way to the log included. Until that
// is committed the group is Dead: nothing may join or commit, else it would be deleted with what it does not know.
// It gives the number of records.
func (m *Machine) deleteGroup(g *group, outcome func(kafka.ErrorCode)) int {
	var records []Record
	g.eachKey(func(k kafka.TopicPartition, _ kafka.TopicID) {
		records = append(records, offsetTombstone(g.id, k.Topic, k.Partition))
	})
	records = append(records, groupTombstone(g.id))
	for _, id := range slices.Sorted(maps.Keys(g.pending)) { // in order: it decides which of equal alarms comes first
		m.clearPending(g, id)
	}
	g.state = Dead
	m.append(g, records, func(_ Time, code kafka.ErrorCode) {
		if code == kafka.None {
			g.generation, g.protocolType, g.topics = 0, "", nil
		}
		g.state = Empty
		if outcome != nil {
			outcome(code)
		}
	})
	return len(records)
}

// eachKey visits the partitions that have an offset or will have one that is on its way, in order, with the topic id of
// the latest.
func (g *group) eachKey(visit func(k kafka.TopicPartition, id kafka.TopicID)) {
	latest := make(map[kafka.TopicPartition]kafka.TopicID, len(g.pendingCommits))
	g.offsets.each(func(topic string, p int32, o offset) {
		latest[kafka.TopicPartition{Topic: topic, Partition: p}] = o.topicID
	})
	for k, p := range g.pendingCommits {
		latest[k] = p.last
	}
	for _, k := range slices.SortedFunc(maps.Keys(latest), compareTopicPartition) {
		visit(k, latest[k])
	}
}

func compareTopicPartition(a, b kafka.TopicPartition) int {
	return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}
