package group

import (
	"fmt"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// served are the versions of the group APIs.
var served = []struct {
	req      kmsg.Request
	from, to int16
}{
	{func() kmsg.Request { r := kmsg.NewPtrJoinGroupRequest(); r.Group, r.MemberID = "g", "m"; return r }(), 0, 9},
	{&kmsg.SyncGroupRequest{Group: "g", MemberID: "m"}, 0, 5},
	{&kmsg.HeartbeatRequest{Group: "g", MemberID: "m"}, 0, 4},
	{&kmsg.LeaveGroupRequest{Group: "g", MemberID: "m"}, 0, 5},
	{&kmsg.OffsetCommitRequest{Group: "g", Topics: []kmsg.OffsetCommitRequestTopic{{Topic: "t",
		Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 3}}}}}, 2, 10},
	{&kmsg.OffsetFetchRequest{Group: "g", Topics: []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{3}}},
		Groups: []kmsg.OffsetFetchRequestGroup{{Group: "g"}}}, 1, 10},
	{&kmsg.OffsetDeleteRequest{Group: "g"}, 0, 0},
	{&kmsg.DescribeGroupsRequest{Groups: []string{"g"}}, 0, 6},
	{&kmsg.ListGroupsRequest{}, 0, 5},
	{&kmsg.DeleteGroupsRequest{Groups: []string{"g"}}, 0, 3},
}

// Every version has a place for the code, and one only: clients look at one.
func TestRefuseReachesTheClientAtEveryVersion(t *testing.T) {
	for _, s := range served {
		for v := s.from; v <= s.to; v++ {
			s.req.SetVersion(v)
			name := fmt.Sprintf("%s v%d", kmsg.NameForKey(s.req.Key()), v)
			resp := kmsg.ResponseForKey(s.req.Key())
			resp.SetVersion(v)
			if err := resp.ReadFrom(Refuse(s.req, kafka.NotCoordinator).AppendTo(nil)); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got := codesOf(resp); len(got) != 1 || got[0] != int16(kafka.NotCoordinator) {
				t.Errorf("%s: codes %v, want one NOT_COORDINATOR", name, got)
			}
		}
	}
}

// codesOf lists the codes that are not 0.
func codesOf(resp kmsg.Response) (codes []int16) {
	note := func(c int16) {
		if c != 0 {
			codes = append(codes, c)
		}
	}
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		note(r.ErrorCode)
	case *kmsg.SyncGroupResponse:
		note(r.ErrorCode)
	case *kmsg.HeartbeatResponse:
		note(r.ErrorCode)
	case *kmsg.LeaveGroupResponse:
		note(r.ErrorCode)
	case *kmsg.OffsetDeleteResponse:
		note(r.ErrorCode)
	case *kmsg.ListGroupsResponse:
		note(r.ErrorCode)
	case *kmsg.OffsetCommitResponse:
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				note(p.ErrorCode)
			}
		}
	case *kmsg.OffsetFetchResponse:
		note(r.ErrorCode)
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				note(p.ErrorCode)
			}
		}
		for _, g := range r.Groups {
			note(g.ErrorCode)
		}
	case *kmsg.DescribeGroupsResponse:
		for _, g := range r.Groups {
			note(g.ErrorCode)
		}
	case *kmsg.DeleteGroupsResponse:
		for _, g := range r.Groups {
			note(g.ErrorCode)
		}
	}
	return codes
}

func TestLogRefusalsAreTranslatedForClients(t *testing.T) {
	f := func(log, want kafka.ErrorCode) {
		t.Helper()
		if got := coordinatorCode(log); got != want {
			t.Errorf("%s becomes %s, want %s", log, got, want)
		}
	}
	f(kafka.NotEnoughReplicas, kafka.CoordinatorNotAvailable)
	f(kafka.RequestTimedOut, kafka.CoordinatorNotAvailable)
	f(kafka.NotLeaderOrFollower, kafka.NotCoordinator)
	f(kafka.KafkaStorageError, kafka.NotCoordinator)
	f(kafka.MessageTooLarge, kafka.UnknownServerError)
	f(kafka.InvalidRecord, kafka.InvalidRecord)
}

// A record of a kind that is not ours is passed over, one that is damaged is not.
func TestApplyToldFromDamage(t *testing.T) {
	m := New(DefaultConfig())
	apply := func(key, value string) error { return m.Apply(Record{Key: []byte(key), Value: []byte(value)}) }
	if err := apply("\x00\x05\x00\x01g", "x"); err != nil {
		t.Errorf("key version 5: %v", err)
	}
	for _, bad := range []Record{
		{Key: nil}, {Key: []byte{0}}, {Key: []byte("\x00\x01\x00\x05g")}, {Key: []byte("\x00\x02\x00\x05g")},
		{Key: offsetKey("g", "t", 1), Value: []byte("\x00\x03short")},
		{Key: groupKey("g"), Value: []byte("\x00\x03short")},
	} {
		if err := m.Apply(bad); err == nil {
			t.Errorf("applied %x = %x", bad.Key, bad.Value)
		}
	}
	if d := m.Dump(); d != "" {
		t.Errorf("state after nothing was applied:\n%s", d)
	}
}

// Old values of groups and offsets are read.
func TestOldValueVersionsAreRead(t *testing.T) {
	m := New(DefaultConfig())
	for v := int16(0); v <= 4; v++ {
		ov := kmsg.NewOffsetCommitValue()
		ov.Version, ov.Offset, ov.Metadata, ov.LeaderEpoch, ov.ExpireTimestamp = v, int64(v), "m", 7, 99
		if err := m.Apply(Record{Key: offsetKey("g", "t", int32(v)), Value: ov.AppendTo(nil)}); err != nil {
			t.Fatal(err)
		}
		gv := kmsg.NewGroupMetadataValue()
		gv.Version, gv.Generation, gv.ProtocolType, gv.Protocol = v, int32(v), "consumer", kmsg.StringPtr("range")
		mb := kmsg.NewGroupMetadataValueMember()
		mb.MemberID, mb.SessionTimeoutMillis, mb.RebalanceTimeoutMillis = "m", 1000, 2000
		gv.Members = append(gv.Members, mb)
		if err := m.Apply(Record{Key: groupKey(fmt.Sprintf("g%d", v)), Value: gv.AppendTo(nil)}); err != nil {
			t.Fatal(err)
		}
	}
	want := `group g
  offset t-0 0 epoch -1 metadata "m" at 0
  offset t-1 1 epoch -1 metadata "m" at 0 expires 99
  offset t-2 2 epoch -1 metadata "m" at 0
  offset t-3 3 epoch 7 metadata "m" at 0
  offset t-4 4 epoch 7 metadata "m" at 0
`
	if got := m.Dump(); got[:len(want)] != want {
		t.Errorf("got\n%s", got)
	}
	m.Activate(Time{})
	if got := m.groups["g0"].members[0].rebalanceMillis; got != 1000 {
		t.Errorf("rebalance timeout of a member of version 0: %d, want its session's", got)
	}
	if got := m.groups["g1"].members[0].rebalanceMillis; got != 2000 {
		t.Errorf("rebalance timeout of a member of version 1: %d", got)
	}
}

func FuzzApply(f *testing.F) {
	f.Add(offsetKey("g", "t", 1), []byte("\x00\x03"))
	f.Add(groupKey("g"), []byte("\x00\x03\xff\xff"))
	f.Fuzz(func(_ *testing.T, key, value []byte) {
		m := New(DefaultConfig())
		if err := m.Apply(Record{Key: key, Value: value}); err != nil {
			return
		}
		m.Activate(Time{})
		m.Tick(Time{Elapsed: 1 << 50, Wall: 1 << 50})
	})
}
