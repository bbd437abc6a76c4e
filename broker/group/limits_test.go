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
