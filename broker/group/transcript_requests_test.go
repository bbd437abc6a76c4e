package group

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// buildRequest makes a request of a transcript's words and takes it once through its wire form, so that each version
// has what it can carry and nothing else.
func buildRequest(cmd string, a args) kmsg.Request {
	req := map[string]func(args) kmsg.Request{
		"join": buildJoin, "sync": buildSync, "heartbeat": buildHeartbeat, "leave": buildLeave, "commit": buildCommit,
		"fetch": buildFetch, "describe": buildDescribe, "list": buildList, "delete": buildDelete,
		"offset-delete": buildOffsetDelete,
	}[cmd](a)
	decoded := kmsg.RequestForKey(req.Key())
	decoded.SetVersion(req.GetVersion())
	if err := decoded.ReadFrom(req.AppendTo(nil)); err != nil {
		panic(err)
	}
	if oc, ok := decoded.(*kmsg.OffsetCommitRequest); ok { // the caller fills in both
		for i := range oc.Topics {
			oc.Topics[i].Topic, oc.Topics[i].TopicID = a["topic"], topicID(a["id"])
		}
	}
	return decoded
}

func buildJoin(a args) kmsg.Request {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version = int16(a.int("v", 9))
	r.Group, r.MemberID, r.InstanceID = a.text("g", "g"), long(a["m"]), a.opt("instance")
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = int32(a.int("session", 10_000)), int32(a.int("rebalance", 60_000))
	r.ProtocolType = a.text("type", "consumer")
	for _, name := range a.list("protocols") {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, consumerMetadata(a.list("topics"))
		r.Protocols = append(r.Protocols, p)
	}
	if _, ok := a["protocols"]; !ok {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = "range", consumerMetadata(a.list("topics"))
		r.Protocols = append(r.Protocols, p)
	}
	return r
}

func buildSync(a args) kmsg.Request {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version = int16(a.int("v", 5))
	r.Group, r.MemberID, r.InstanceID, r.Generation = a.text("g", "g"), long(a["m"]), a.opt("instance"), int32(a.int("gen", 1))
	r.ProtocolType, r.Protocol = a.opt("type"), a.opt("protocol")
	for _, pair := range a.list("assign") {
		id, what, _ := strings.Cut(pair, ":")
		as := kmsg.NewSyncGroupRequestGroupAssignment()
		as.MemberID, as.MemberAssignment = long(id), []byte(what)
		r.GroupAssignment = append(r.GroupAssignment, as)
	}
	return r
}

func buildHeartbeat(a args) kmsg.Request {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version = int16(a.int("v", 4))
	r.Group, r.MemberID, r.InstanceID, r.Generation = a.text("g", "g"), long(a["m"]), a.opt("instance"), int32(a.int("gen", 1))
	return r
}

func buildLeave(a args) kmsg.Request {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version = int16(a.int("v", 5))
	r.Group = a.text("g", "g")
	if r.Version < 3 {
		r.MemberID = long(a["m"])
		return r
	}
	for _, id := range a.list("m") {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = long(id)
		r.Members = append(r.Members, m)
	}
	for _, id := range a.list("instance") {
		if len(r.Members) == 1 && r.Members[0].InstanceID == nil && a["m"] != "" {
			r.Members[0].InstanceID = &id
			continue
		}
		m := kmsg.NewLeaveGroupRequestMember()
		m.InstanceID = &id
		r.Members = append(r.Members, m)
	}
	return r
}

// partitions of commit: p=0:10,1:20; metadata=len makes metadata of that many bytes.
func buildCommit(a args) kmsg.Request {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version = int16(a.int("v", 9))
	r.Group, r.MemberID, r.InstanceID, r.Generation = a.text("g", "g"), long(a["m"]), a.opt("instance"), int32(a.int("gen", -1))
	r.RetentionTimeMillis = int64(a.int("retention", -1))
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = a.text("topic", "t"), topicID(a["id"])
	a["topic"] = t.Topic
	for _, pair := range a.list("p") {
		part, off, _ := strings.Cut(pair, ":")
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		n, _ := strconv.Atoi(part)
		o, _ := strconv.ParseInt(off, 10, 64)
		p.Partition, p.Offset, p.LeaderEpoch = int32(n), o, int32(a.int("epoch", -1))
		p.Metadata = kmsg.StringPtr(a["note"] + strings.Repeat("x", a.int("metadata", 0)))
		t.Partitions = append(t.Partitions, p)
	}
	r.Topics = append(r.Topics, t)
	return r
}

func buildFetch(a args) kmsg.Request {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version = int16(a.int("v", 9))
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = a.text("g", "g")
	if _, ok := a["p"]; ok {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic = a.text("topic", "t")
		for _, part := range a.list("p") {
			n, _ := strconv.Atoi(part)
			t.Partitions = append(t.Partitions, int32(n))
		}
		g.Topics = append(g.Topics, t)
	}
	r.Groups = append(r.Groups, g)
	return r
}

func buildDescribe(a args) kmsg.Request {
	r := kmsg.NewPtrDescribeGroupsRequest()
	r.Version, r.Groups = int16(a.int("v", 6)), strings.Split(a.text("g", "g"), ",")
	return r
}

func buildList(a args) kmsg.Request {
	r := kmsg.NewPtrListGroupsRequest()
	r.Version, r.StatesFilter, r.TypesFilter = int16(a.int("v", 5)), a.list("states"), a.list("types")
	return r
}

func buildDelete(a args) kmsg.Request {
	r := kmsg.NewPtrDeleteGroupsRequest()
	r.Version, r.Groups = int16(a.int("v", 2)), strings.Split(a.text("g", "g"), ",")
	return r
}

func buildOffsetDelete(a args) kmsg.Request {
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = a.text("g", "g")
	t := kmsg.NewOffsetDeleteRequestTopic()
	t.Topic = a.text("topic", "t")
	for _, part := range a.list("p") {
		n, _ := strconv.Atoi(part)
		t.Partitions = append(t.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: int32(n)})
	}
	r.Topics = append(r.Topics, t)
	return r
}

// formatResponse prints a response after a trip through its wire form.
func formatResponse(in kmsg.Response) string {
	resp := kmsg.ResponseForKey(in.Key())
	resp.SetVersion(in.GetVersion())
	if err := resp.ReadFrom(in.AppendTo(nil)); err != nil {
		panic(err)
	}
	code := func(c int16) string { return kafka.ErrorCode(c).String() }
	var b strings.Builder
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		if r.ErrorCode != 0 {
			fmt.Fprintf(&b, "join: %s member %q generation %d", code(r.ErrorCode), r.MemberID, r.Generation)
			break
		}
		fmt.Fprintf(&b, "join: member %s generation %d protocol %s leader %s", r.MemberID, r.Generation, *r.Protocol, r.LeaderID)
		if r.SkipAssignment {
			b.WriteString(" skip-assignment")
		}
		for _, m := range r.Members {
			fmt.Fprintf(&b, " [%s%s]", m.MemberID, instance(m.InstanceID))
		}
	case *kmsg.SyncGroupResponse:
		fmt.Fprintf(&b, "sync: %s", code(r.ErrorCode))
		if r.ErrorCode == 0 {
			fmt.Fprintf(&b, " %q", r.MemberAssignment)
		}
	case *kmsg.HeartbeatResponse:
		fmt.Fprintf(&b, "heartbeat: %s", code(r.ErrorCode))
	case *kmsg.LeaveGroupResponse:
		fmt.Fprintf(&b, "leave: %s", code(r.ErrorCode))
		for _, m := range r.Members {
			fmt.Fprintf(&b, " [%s%s %s]", m.MemberID, instance(m.InstanceID), code(m.ErrorCode))
		}
	case *kmsg.OffsetCommitResponse:
		b.WriteString("commit:")
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&b, " %d %s", p.Partition, code(p.ErrorCode))
			}
		}
	case *kmsg.OffsetFetchResponse:
		b.WriteString("fetch:")
		for _, g := range r.Groups {
			for _, t := range g.Topics {
				for _, p := range t.Partitions {
					fmt.Fprintf(&b, " %s-%d:%d(epoch %d %q)", t.Topic, p.Partition, p.Offset, p.LeaderEpoch, *p.Metadata)
				}
			}
		}
	case *kmsg.DescribeGroupsResponse:
		b.WriteString("describe:")
		for _, g := range r.Groups {
			fmt.Fprintf(&b, " %s %s %s type %q protocol %q", g.Group, code(g.ErrorCode), g.State, g.ProtocolType, g.Protocol)
			for _, m := range g.Members {
				fmt.Fprintf(&b, " [%s%s %s%s subscription %d assignment %q]", m.MemberID, instance(m.InstanceID), m.ClientID, m.ClientHost,
					len(m.ProtocolMetadata), m.MemberAssignment)
			}
		}
	case *kmsg.ListGroupsResponse:
		b.WriteString("list:")
		for _, g := range r.Groups {
			fmt.Fprintf(&b, " [%s %q %s %s]", g.Group, g.ProtocolType, g.GroupState, g.GroupType)
		}
	case *kmsg.DeleteGroupsResponse:
		b.WriteString("delete:")
		for _, g := range r.Groups {
			fmt.Fprintf(&b, " %s %s", g.Group, code(g.ErrorCode))
		}
	case *kmsg.OffsetDeleteResponse:
		fmt.Fprintf(&b, "offset-delete: %s", code(r.ErrorCode))
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&b, " %d %s", p.Partition, code(p.ErrorCode))
			}
		}
	}
	return b.String()
}

func instance(id *string) string {
	if id == nil {
		return ""
	}
	return "/" + *id
}

func formatRecord(r Record) string {
	e, err := decodeRecord(r)
	if err != nil {
		panic(err)
	}
	switch {
	case e.offsetKey != nil && e.offset == nil:
		return fmt.Sprintf("tombstone of offset %s %s-%d", e.offsetKey.Group, e.offsetKey.Topic, e.offsetKey.Partition)
	case e.offsetKey != nil:
		return fmt.Sprintf("offset %s %s-%d %d v%d", e.offsetKey.Group, e.offsetKey.Topic, e.offsetKey.Partition, e.offset.offset, r.Value[1])
	case e.group == nil:
		return fmt.Sprintf("tombstone of group %s", e.groupKey.Group)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "group %s generation %d leader %s", e.groupKey.Group, e.group.Generation, orNull(e.group.Leader))
	for _, m := range e.group.Members {
		fmt.Fprintf(&b, " [%s%s %q]", m.MemberID, instance(m.InstanceID), m.Assignment)
	}
	return b.String()
}

// checkInvariants checks G1 to G3 of the package comment.
func (m *Machine) checkInvariants(t *testing.T) {
	t.Helper()
	for id, g := range m.groups {
		joined := 0
		support := map[string]int{}
		for _, mb := range g.members {
			if mb.joining != nil {
				joined++
			}
			for _, p := range mb.protocols {
				support[p.Name]++
			}
			switch {
			case g.byID[mb.id] != mb || mb.instanceID != nil && g.byStatic[*mb.instanceID] != mb:
				t.Fatalf("group %s: member %s is not where it is looked for", id, mb.id)
			case mb.session.index == 0:
				t.Fatalf("G3: group %s: member %s has no deadline", id, mb.id)
			case mb.joining != nil && g.state != Preparing:
				t.Fatalf("G2: group %s: member %s waits to join in %s", id, mb.id, g.state)
			case mb.syncing != nil && g.state != Completing:
				t.Fatalf("G2: group %s: member %s waits to sync in %s", id, mb.id, g.state)
			case mb.returning != nil && g.state != Stable:
				t.Fatalf("G2: group %s: member %s waits to come back in %s", id, mb.id, g.state)
			}
		}
		if len(g.members) != len(g.byID) || joined != g.joined || fmt.Sprint(support) != fmt.Sprint(g.support) && len(g.members) > 0 {
			t.Fatalf("group %s: %d members, %d by id; %d joined, %d counted; support %v, counted %v",
				id, len(g.members), len(g.byID), joined, g.joined, support, g.support)
		}
		switch g.state {
		case Preparing:
			if g.rebalance.index == 0 {
				t.Fatalf("G3: group %s prepares without a deadline", id)
			}
			if !g.initial && len(g.pending) == 0 && len(g.members) > 0 && joined == len(g.members) {
				t.Fatalf("G4: group %s: everybody has joined and it still prepares", id)
			}
		case Completing, Stable:
			if g.byID[g.leader] == nil {
				t.Fatalf("G1: group %s in %s: leader %q is no member", id, g.state, g.leader)
			}
			if g.state == Completing && g.rebalance.index == 0 && !g.saving {
				t.Fatalf("G3: group %s completes without a deadline", id)
			}
		case Empty, Dead:
			if len(g.members) > 0 {
				t.Fatalf("group %s is %s with %d members", id, g.state, len(g.members))
			}
		}
	}
}

func TestOffsetRecordsAreKafkas(t *testing.T) {
	o := offset{offset: 42, leaderEpoch: 5, metadata: "note", committed: 1000, expires: kafka.NoTimestamp}
	withID := o
	withID.topicID = kafka.TopicID{0: 0xaa, 15: 0xbb}
	withExpiry := o
	withExpiry.expires = 2000
	tests := []struct {
		name  string
		r     Record
		key   string
		value string
	}{
		{"version 3: offset, epoch, metadata, time", offsetRecord("g", "t", 7, o),
			"0001" + "0001" + "67" + "0001" + "74" + "00000007",
			"0003" + "000000000000002a" + "00000005" + "0004" + "6e6f7465" + "00000000000003e8"},
		{"version 4: flexible, with the topic id as tag 0", offsetRecord("g", "t", 7, withID),
			"0001" + "0001" + "67" + "0001" + "74" + "00000007",
			"0004" + "000000000000002a" + "00000005" + "05" + "6e6f7465" + "00000000000003e8" + "01" + "00" + "10" + "aa0000000000000000000000000000bb"},
		{"version 1: with an expiry", offsetRecord("g", "t", 7, withExpiry),
			"0001" + "0001" + "67" + "0001" + "74" + "00000007",
			"0001" + "000000000000002a" + "0004" + "6e6f7465" + "00000000000003e8" + "00000000000007d0"},
		{"tombstone of an offset", offsetTombstone("g", "t", 7), "0001" + "0001" + "67" + "0001" + "74" + "00000007", ""},
		{"tombstone of a group", groupTombstone("g"), "0002" + "0001" + "67", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := hex.EncodeToString(tt.r.Key); got != tt.key {
				t.Errorf("key\n got %s\nwant %s", got, tt.key)
			}
			if got := hex.EncodeToString(tt.r.Value); got != tt.value {
				t.Errorf("value\n got %s\nwant %s", got, tt.value)
			}
			if tt.value == "" && tt.r.Value != nil {
				t.Error("a tombstone has a value")
			}
		})
	}
}
