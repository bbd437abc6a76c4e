package handler

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// join is a member's request to join group g.
func join(version int16, member string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = version, "g", member, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 10_000, 10_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte("subscription")}}
	return req
}

// TestGroupRequestsReachTheirCoordinator: the life of a group of one, at the first and the last version.
func TestGroupRequestsReachTheirCoordinator(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		w.topic("__consumer_offsets", on(self))
		w.code("no coordinator yet", ask[*kmsg.JoinGroupResponse](w, join(0, "")).ErrorCode, kafka.NotCoordinator)
		l := w.hostGroups()

		first := ask[*kmsg.JoinGroupResponse](w, join(9, ""))
		w.code("without member id", first.ErrorCode, kafka.MemberIDRequired)
		waits := w.send(join(9, first.MemberID))
		if !waits.pending() {
			t.Fatal("answered before the group could gather")
		}
		w.pass(4 * time.Second)
		joined := waits.response().(*kmsg.JoinGroupResponse)
		if joined.ErrorCode != 0 || joined.Generation != 1 || joined.LeaderID != joined.MemberID || string(joined.Members[0].ProtocolMetadata) != "subscription" {
			t.Fatalf("%+v", joined)
		}
		sync := kmsg.NewPtrSyncGroupRequest()
		sync.Version, sync.Group, sync.MemberID, sync.Generation = 5, "g", joined.MemberID, 1
		sync.ProtocolType, sync.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
		sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: joined.MemberID, MemberAssignment: []byte("all")}}
		if got := ask[*kmsg.SyncGroupResponse](w, sync); got.ErrorCode != 0 || string(got.MemberAssignment) != "all" {
			t.Errorf("%+v", got)
		}
		for _, version := range versions(kmsg.Heartbeat) {
			beat := kmsg.NewPtrHeartbeatRequest()
			beat.Version, beat.Group, beat.MemberID, beat.Generation = version, "g", joined.MemberID, 1
			w.code("heartbeat", ask[*kmsg.HeartbeatResponse](w, beat).ErrorCode, kafka.None)
		}
		for _, version := range versions(kmsg.OffsetCommit) {
			commit := kmsg.NewPtrOffsetCommitRequest()
			commit.Version, commit.Group, commit.MemberID, commit.Generation = version, "g", joined.MemberID, 1
			commit.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", TopicID: topicID("t"), Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: 7, LeaderEpoch: -1}}}}
			w.code("commit", ask[*kmsg.OffsetCommitResponse](w, commit).Topics[0].Partitions[0].ErrorCode, kafka.None)
		}
		fetch := kmsg.NewPtrOffsetFetchRequest()
		fetch.Version, fetch.Group = 7, "g"
		if got := ask[*kmsg.OffsetFetchResponse](w, fetch); len(got.Topics) != 1 || got.Topics[0].Partitions[0].Offset != 7 {
			t.Errorf("%+v", got)
		}
		for _, version := range versions(kmsg.DescribeGroups) {
			describe := kmsg.NewPtrDescribeGroupsRequest()
			describe.Version, describe.Groups, describe.IncludeAuthorizedOperations = version, []string{"g"}, version > 0
			got := ask[*kmsg.DescribeGroupsResponse](w, describe).Groups[0]
			if got.State != "Stable" || got.Members[0].ClientID != "test" || got.Members[0].ClientHost != "/10.0.0.7" || version > 0 && got.AuthorizedOperations != groupOperations {
				t.Errorf("version %d: %+v", version, got)
			}
		}
		for _, version := range versions(kmsg.ListGroups) {
			list := kmsg.NewPtrListGroupsRequest()
			list.Version = version
			if got := ask[*kmsg.ListGroupsResponse](w, list).Groups; len(got) != 1 || got[0].Group != "g" {
				t.Errorf("version %d: %+v", version, got)
			}
		}
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Version, leave.Group, leave.MemberID = 0, "g", joined.MemberID
		w.code("leave", ask[*kmsg.LeaveGroupResponse](w, leave).ErrorCode, kafka.None)
		deletion := kmsg.NewPtrDeleteGroupsRequest()
		deletion.Groups = []string{"g", "none"}
		got := ask[*kmsg.DeleteGroupsResponse](w, deletion)
		w.code("delete", got.Groups[0].ErrorCode, kafka.None)
		w.code("delete what is not there", got.Groups[1].ErrorCode, kafka.GroupIDNotFound)
		if len(l.batches) == 0 {
			t.Error("nothing is in the log")
		}
	})
}

// TestAJoinEndsWhenTheCoordinatorGoes: nobody waits for a broker that does not coordinate any more.
func TestAJoinEndsWhenTheCoordinatorGoes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("__consumer_offsets", on(self))
		w.hostGroups()
		waits := w.send(join(0, ""))
		if !waits.pending() {
			t.Fatal("answered at once")
		}
		w.groups.Resigned(0, 2)
		w.code("resigned", waits.response().(*kmsg.JoinGroupResponse).ErrorCode, kafka.NotCoordinator)
	})
}
