package coordinator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestJoinSyncHeartbeatCommitFetch(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{epoch: 3}
	want(t, "before election", b.fetched("g"), "NOT_COORDINATOR")
	b.groups.Elected(0, 3, log)
	want(t, "an empty log needs no loader", b.fetched("g"), "-1")

	m := b.member("g")
	hb := now[*kmsg.HeartbeatResponse](t, b.ask(heartbeatRequest("g", m, 1)))
	want(t, "heartbeat", hb.ErrorCode, 0)
	req := commitRequest(9, "g", "t", 42)
	req.MemberID, req.Generation = m, 1
	want(t, "commit", now[*kmsg.OffsetCommitResponse](t, b.ask(req)).Topics[0].Partitions[0].ErrorCode, 0)
	want(t, "fetch", b.fetched("g"), "42")

	b.clock.add(10 * time.Second)
	b.groups.Tick()
	hb = now[*kmsg.HeartbeatResponse](t, b.ask(heartbeatRequest("g", m, 1)))
	want(t, "heartbeat after the session", kafka.ErrorCode(hb.ErrorCode), kafka.UnknownMemberID)

	b.groups.Resigned(0, 4)
	want(t, "after resigning", b.fetched("g"), "NOT_COORDINATOR")
}

func TestRequestsOverSeveralShardsKeepTheirOrder(t *testing.T) {
	b := newBench(t, 5)
	logs := map[int32]*memLog{}
	for p := range int32(4) { // partition 4 is elsewhere
		logs[p] = &memLog{}
		b.groups.Elected(p, 0, logs[p])
	}
	var ids []string
	elsewhere := 0
	for i := range 20 {
		id := fmt.Sprintf("group-%d", i)
		ids = append(ids, id)
		if PartitionFor(id, 5) == 4 {
			elsewhere++
			continue
		}
		want(t, "commit", b.commit(id, int64(i)), kafka.None)
	}
	if elsewhere == 0 {
		t.Fatal("no group is elsewhere")
	}
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version = 8
	for _, id := range ids {
		req.Groups = append(req.Groups, kmsg.OffsetFetchRequestGroup{Group: id})
	}
	for i, g := range now[*kmsg.OffsetFetchResponse](t, b.ask(req)).Groups {
		want(t, "group", g.Group, ids[i])
		if PartitionFor(ids[i], 5) == 4 {
			want(t, ids[i], kafka.ErrorCode(g.ErrorCode), kafka.NotCoordinator)
			continue
		}
		want(t, ids[i], g.Topics[0].Partitions[0].Offset, int64(i))
	}
	for i, g := range now[*kmsg.DescribeGroupsResponse](t, b.ask(&kmsg.DescribeGroupsRequest{Version: 5, Groups: ids})).Groups {
		want(t, "group", g.Group, ids[i])
		if PartitionFor(ids[i], 5) != 4 {
			want(t, ids[i], g.State, "Empty")
		}
	}
	list := now[*kmsg.ListGroupsResponse](t, b.ask(&kmsg.ListGroupsRequest{Version: 5}))
	want(t, "listed", len(list.Groups), len(ids)-elsewhere)
	for i, g := range now[*kmsg.DeleteGroupsResponse](t, b.ask(&kmsg.DeleteGroupsRequest{Version: 2, Groups: ids})).Groups {
		want(t, "group", g.Group, ids[i])
		code := kafka.None
		if PartitionFor(ids[i], 5) == 4 {
			code = kafka.NotCoordinator
		}
		want(t, ids[i], kafka.ErrorCode(g.ErrorCode), code)
	}
	for _, req := range []kmsg.Request{&kmsg.DescribeGroupsRequest{Version: 5}, &kmsg.DeleteGroupsRequest{Version: 2}, &kmsg.OffsetFetchRequest{Version: 8}} {
		if *b.ask(req) == nil {
			t.Errorf("%T of no group is not answered", req)
		}
	}
}

func TestTopicsAreCheckedAndTranslated(t *testing.T) {
	b := newBench(t, 1)
	b.topics.set("u", 2)
	b.groups.Elected(0, 0, &memLog{})

	// By name: 3 for the one that is not there, in its place.
	req := commitRequest(8, "g", "nope", 1)
	req.Topics = append(req.Topics, commitRequest(8, "g", "t", 5, 6).Topics...)
	req.Topics = append(req.Topics, commitRequest(8, "g", "u", 7).Topics...)
	resp := now[*kmsg.OffsetCommitResponse](t, b.ask(req))
	want(t, "topics", len(resp.Topics), 3)
	want(t, "nope", kafka.ErrorCode(resp.Topics[0].Partitions[0].ErrorCode), kafka.UnknownTopicOrPartition)
	want(t, "t", resp.Topics[1].Topic+fmt.Sprint(resp.Topics[1].Partitions[1].ErrorCode), "t0")

	// By id: 100 for unknown and zero ids.
	byID := commitRequest(10, "g", "", 8)
	byID.Topics[0].TopicID = kafka.TopicID{15: 1}
	bad := commitRequest(10, "g", "", 1).Topics[0]
	bad.TopicID = kafka.TopicID{0: 9}
	zero := commitRequest(10, "g", "", 1).Topics[0]
	byID.Topics = append([]kmsg.OffsetCommitRequestTopic{zero, bad}, byID.Topics...)
	resp = now[*kmsg.OffsetCommitResponse](t, b.ask(byID))
	for i, code := range []kafka.ErrorCode{kafka.UnknownTopicID, kafka.UnknownTopicID, kafka.None} {
		want(t, fmt.Sprint("topic ", i), kafka.ErrorCode(resp.Topics[i].Partitions[0].ErrorCode), code)
	}

	all := bad
	f := kmsg.NewPtrOffsetFetchRequest()
	f.Version = 10
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = "g"
	for _, id := range [][16]byte{all.TopicID, {15: 2}, {}, {15: 1}} {
		g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{TopicID: id, Partitions: []int32{0}})
	}
	f.Groups = append(f.Groups, g)
	var got []string
	for _, rt := range now[*kmsg.OffsetFetchResponse](t, b.ask(f)).Groups[0].Topics {
		got = append(got, fmt.Sprintf("%d:%d/%d", rt.TopicID[15], rt.Partitions[0].Offset, rt.Partitions[0].ErrorCode))
	}
	want(t, "fetch by id", strings.Join(got, " "), "0:-1/100 2:7/0 0:-1/100 1:8/0")

	f.Groups[0].Topics = nil
	n := 0
	for _, rt := range now[*kmsg.OffsetFetchResponse](t, b.ask(f)).Groups[0].Topics {
		if rt.TopicID == [16]byte{} {
			t.Error("a topic without an id in version 10")
		}
		n += len(rt.Partitions)
	}
	want(t, "all partitions", n, 3)
	old := now[*kmsg.OffsetFetchResponse](t, b.ask(fetchRequest(5, "g", "")))
	want(t, "all topics in version 5", len(old.Topics), 2)
	old = now[*kmsg.OffsetFetchResponse](t, b.ask(fetchRequest(5, "g", "nope", 0)))
	want(t, "an unknown topic has no offset", old.Topics[0].Partitions[0].Offset, -1)

	del := now[*kmsg.OffsetDeleteResponse](t, b.ask(&kmsg.OffsetDeleteRequest{Group: "g", Topics: []kmsg.OffsetDeleteRequestTopic{
		{Topic: "nope", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}},
		{Topic: "u", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}},
	}}))
	want(t, "offset delete", fmt.Sprint(del.Topics[0].Partitions[0].ErrorCode, del.Topics[1].Partitions[0].ErrorCode), "3 0")
	none := now[*kmsg.OffsetCommitResponse](t, b.ask(commitRequest(8, "g", "nope", 1)))
	want(t, "only unknown topics", none.Topics[0].Partitions[0].ErrorCode, 3)
}

// franz-go#1336: offsets of a deleted topic must not be those of the next topic of that name.
func TestADeletedTopicTakesItsOffsetsAlong(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{}
	b.groups.Elected(0, 0, log)
	want(t, "commit", b.commit("g", 42), kafka.None)
	b.topics.set("t", 0)
	b.topics.set("t", 7)
	want(t, "of the next life, at once", b.fetched("g"), "-1")
	b.groups.TopicsChanged()
	end := log.end
	want(t, "a tombstone is written", end, 2)
	b.groups.TopicsChanged()
	want(t, "once", log.end, end)

	// Deleted while nobody was there to hear of it.
	want(t, "commit", b.commit("g", 43), kafka.None)
	b.groups.Resigned(0, 0)
	b.topics.set("t", 8)
	log.set(func() { log.epoch = 1 })
	b.groups.Elected(0, 1, log)
	b.load()
	want(t, "after the load", b.fetched("g"), "-1")
	want(t, "another tombstone", log.end, 4)
}

func TestRetentionRunsByItself(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{}
	b.groups.Elected(0, 0, log)
	want(t, "commit", b.commit("g", 1), kafka.None)
	b.clock.add(7*24*time.Hour - time.Millisecond)
	b.groups.Tick()
	want(t, "before", b.fetched("g"), "1")
	b.clock.add(10 * time.Minute)
	b.groups.Tick()
	want(t, "after", b.fetched("g"), "-1")
}

func TestAFullMailboxRefuses(t *testing.T) {
	b := newBench(t, 1)
	c := DefaultConfig()
	c.MaxMailbox = 2
	b.groups.Configure(c)
	b.groups.Elected(0, 0, &memLog{})
	// While one answer is given, which is the shard's turn, others are put into the mailbox.
	var codes []kafka.ErrorCode
	b.groups.Handle(fetchRequest(9, "g", "t", 0), Caller{}, func(kmsg.Response) {
		for range 4 {
			b.groups.Handle(fetchRequest(9, "g", "t", 0), Caller{}, func(r kmsg.Response) {
				codes = append(codes, kafka.ErrorCode(r.(*kmsg.OffsetFetchResponse).Groups[0].ErrorCode))
			})
		}
	})
	want(t, "codes", fmt.Sprint(codes), "[COORDINATOR_NOT_AVAILABLE COORDINATOR_NOT_AVAILABLE NONE NONE]")
}

func TestNoOffsetsTopicNoCoordinator(t *testing.T) {
	b := newBench(t, 0)
	want(t, "fetch", b.fetched("g"), "NOT_COORDINATOR")
	list := now[*kmsg.ListGroupsResponse](t, b.ask(&kmsg.ListGroupsRequest{Version: 5}))
	want(t, "list", list.ErrorCode, 0)
}

func TestCommitToAPartitionThatIsNotThereIsRefusedForItAlone(t *testing.T) {
	b := newBench(t, 1)
	b.topics.set("t", 1)
	b.groups.Elected(0, 0, &memLog{})
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 7, "g", -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = "t"
	for _, n := range []int32{dataPartitions, 3, -1} {
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset = n, 5
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	var resp *kmsg.OffsetCommitResponse
	b.groups.Handle(req, Caller{}, func(r kmsg.Response) { resp = r.(*kmsg.OffsetCommitResponse) })
	want := map[int32]int16{dataPartitions: int16(kafka.UnknownTopicOrPartition), -1: int16(kafka.UnknownTopicOrPartition), 3: 0}
	if resp == nil || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != len(want) {
		t.Fatalf("commit to partitions of which one is there answered %+v, want one entry for each", resp)
	}
	for _, p := range resp.Topics[0].Partitions {
		if p.ErrorCode != want[p.Partition] {
			t.Errorf("partition %d: error code %d, want %d", p.Partition, p.ErrorCode, want[p.Partition])
		}
	}
}

// A group that one request names twice is answered once, and refused after that.
func TestDoubledGroupsAreRefused(t *testing.T) {
	b := newBench(t, 3)
	for p := range int32(3) {
		b.groups.Elected(p, 0, &memLog{})
	}
	for _, id := range []string{"a", "b"} {
		want(t, "commit", b.commit(id, 7), kafka.None)
	}
	ids := []string{"a", "b", "a", "b", "a"}
	fetch := &kmsg.OffsetFetchRequest{Version: 8}
	for _, id := range ids {
		fetch.Groups = append(fetch.Groups, kmsg.OffsetFetchRequestGroup{Group: id})
	}
	f := func(what string, n int, at func(i int) (group string, code int16)) {
		t.Helper()
		want(t, what, n, len(ids))
		for i := range n {
			group, code := at(i)
			wanted := kafka.None
			if i >= 2 {
				wanted = kafka.InvalidRequest
			}
			want(t, fmt.Sprint(what, " ", i), group+" "+kafka.ErrorCode(code).String(), ids[i]+" "+wanted.String())
		}
	}
	offsets := now[*kmsg.OffsetFetchResponse](t, b.ask(fetch)).Groups
	f("offsets", len(offsets), func(i int) (string, int16) { return offsets[i].Group, offsets[i].ErrorCode })
	described := now[*kmsg.DescribeGroupsResponse](t, b.ask(&kmsg.DescribeGroupsRequest{Version: 5, Groups: ids})).Groups
	f("described", len(described), func(i int) (string, int16) { return described[i].Group, described[i].ErrorCode })
	deleted := now[*kmsg.DeleteGroupsResponse](t, b.ask(&kmsg.DeleteGroupsRequest{Version: 2, Groups: ids})).Groups
	f("deleted", len(deleted), func(i int) (string, int16) { return deleted[i].Group, deleted[i].ErrorCode })
}
