package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestMemberIDsThatAreNeverUsedAreBounded(t *testing.T) {
	m := New(DefaultConfig())
	m.Activate(Time{})
	code := func(i int) kafka.ErrorCode {
		r := kmsg.NewPtrJoinGroupRequest()
		r.Version, r.Group, r.ProtocolType, r.SessionTimeoutMillis = 9, "g", "consumer", 10_000
		r.Protocols = append(r.Protocols, kmsg.JoinGroupRequestProtocol{Name: "range"})
		m.Handle(Time{}, Ticket(i), r, Caller{NewID: kafka.UUID{13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}})
		return kafka.ErrorCode(m.Ready().Answers[0].Response.(*kmsg.JoinGroupResponse).ErrorCode)
	}
	for i := range maxPendingIDs {
		if c := code(i); c != kafka.MemberIDRequired {
			t.Fatalf("id %d: %s", i, c)
		}
	}
	if c := code(maxPendingIDs); c != kafka.CoordinatorNotAvailable {
		t.Errorf("one id too many: %s", c)
	}
	m.Tick(Time{Elapsed: kafka.Elapsed(10 * time.Second)})
	if len(m.groups) != 0 {
		t.Errorf("%d groups are left when the ids have expired", len(m.groups))
	}
}

// Retention and the deletion of topics work through many groups in passes.
func TestPassesAreLimited(t *testing.T) {
	const groups, limit = 20, 6
	m := New(DefaultConfig())
	for i := range groups {
		o := offset{offset: 1, expires: kafka.NoTimestamp}
		if err := m.Apply(offsetRecord(fmt.Sprintf("g%02d", i), "t", 0, o)); err != nil {
			t.Fatal(err)
		}
	}
	m.Activate(Time{})
	passes := func(pass func(limit int) bool) (n int) {
		for more := true; more; n++ {
			more = pass(limit)
			records := 0
			for _, ap := range m.Ready().Appends {
				records += len(ap.Records)
				m.Committed(Time{}, ap.ID)
			}
			if records > limit+1 { // a group is not divided
				t.Errorf("%d records in a pass", records)
			}
		}
		return n
	}
	if n := passes(func(limit int) bool {
		return m.DropOffsets(func(topic string, _ kafka.TopicID) bool { return topic == "t" }, limit)
	}); n != 4 {
		t.Errorf("offsets dropped in %d passes", n)
	}
	if n := passes(func(limit int) bool { return m.Expire(Time{Wall: 1 << 50}, limit) }); n != 1 {
		t.Errorf("nothing expired in %d passes", n)
	}
	if d := m.Dump(); d != "" {
		t.Errorf("left:\n%s", d)
	}
}

// A join with as many protocols as a request can carry is decided in time that grows with their number: were it with its square, this would
// take minutes, and the whole shard would wait.
func TestManyProtocols(t *testing.T) {
	const names = 200_000
	m := New(DefaultConfig())
	m.Activate(Time{})
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.ProtocolType, r.SessionTimeoutMillis = 3, "g", "consumer", 10_000
	for i := range names {
		r.Protocols = append(r.Protocols, kmsg.JoinGroupRequestProtocol{Name: fmt.Sprint(i)})
	}
	r.Protocols = append(r.Protocols, r.Protocols[:3]...)
	m.Handle(Time{}, 1, r, Caller{})
	if n := len(m.groups["g"].members[0].protocols); n != names {
		t.Errorf("%d protocols, want %d", n, names)
	}
}

// The filters of ListGroups are looked through once for each state, not once for each group.
func TestManyFilters(t *testing.T) {
	const groups, filters = 2000, 500_000
	m := New(DefaultConfig())
	for i := range groups {
		if err := m.Apply(offsetRecord(fmt.Sprintf("g%04d", i), "t", 0, offset{offset: 1, expires: kafka.NoTimestamp})); err != nil {
			t.Fatal(err)
		}
	}
	m.Activate(Time{})
	r := kmsg.NewPtrListGroupsRequest()
	r.Version, r.StatesFilter = 5, append(make([]string, filters), "eMPTY")
	m.Handle(Time{}, 1, r, Caller{})
	if n := len(m.Ready().Answers[0].Response.(*kmsg.ListGroupsResponse).Groups); n != groups {
		t.Errorf("%d groups are listed, want %d", n, groups)
	}
}
