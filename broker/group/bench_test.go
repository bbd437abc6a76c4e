package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkLargeGroup is a rebalance of a group of n members: all join, all sync, all heartbeat once. Reported per member;
// it must not grow with n.
func BenchmarkLargeGroup(b *testing.B) {
	for _, n := range []int{100, 1000, 7000} {
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) {
			config := DefaultConfig()
			config.InitialRebalanceDelay = 0
			m := New(config)
			now := Time{}
			m.Activate(now)
			ids := make([]string, n)
			var ticket Ticket
			ask := func(req kmsg.Request, i int) {
				ticket++
				m.Handle(now, ticket, req, Caller{ClientID: "c", NewID: kafka.UUID{14: byte(i >> 8), 15: byte(i)}})
			}
			join := func(i int) *kmsg.JoinGroupRequest {
				r := kmsg.NewPtrJoinGroupRequest()
				r.Version, r.Group, r.MemberID, r.ProtocolType = 3, "g", ids[i], "consumer"
				r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 30_000, 60_000
				p := kmsg.NewJoinGroupRequestProtocol()
				p.Name, p.Metadata = "range", consumerMetadata([]string{"some-topic"})
				r.Protocols = append(r.Protocols, p)
				return r
			}
			settle := func() (answers []Answer) {
				for m.HasReady() {
					r := m.Ready()
					answers = append(answers, r.Answers...)
					for _, ap := range r.Appends {
						m.Committed(now, ap.ID)
					}
				}
				return answers
			}
			var generation int32
			take := func() {
				for _, a := range settle() {
					if r, ok := a.Response.(*kmsg.JoinGroupResponse); ok && r.ErrorCode == 0 {
						generation = r.Generation
					}
				}
			}
			for i := range n {
				ask(join(i), i)
				take()
				ids[i] = m.groups["g"].members[len(m.groups["g"].members)-1].id
			}
			b.ResetTimer()
			for b.Loop() {
				for i := range n {
					ask(join(i), i)
				}
				take()
				for i := range n {
					r := kmsg.NewPtrSyncGroupRequest()
					r.Version, r.Group, r.MemberID, r.Generation = 5, "g", ids[i], generation
					ask(r, i)
				}
				take()
				if m.groups["g"].state != Stable {
					b.Fatalf("group is %s", m.groups["g"].state)
				}
				now.Elapsed = now.Elapsed.Add(time.Millisecond)
				for i := range n {
					r := kmsg.NewPtrHeartbeatRequest()
					r.Version, r.Group, r.MemberID, r.Generation = 4, "g", ids[i], generation
					ask(r, i)
				}
				take()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/member")
		})
	}
}

// BenchmarkApplyOffset is the replay of committed offsets: 1000 groups, 100 partitions each, again and again.
func BenchmarkApplyOffset(b *testing.B) {
	records := make([]Record, 100_000)
	for i := range records {
		o := offset{offset: kafka.Offset(i), leaderEpoch: 1, expires: kafka.NoTimestamp, topicID: kafka.TopicID{1}}
		records[i] = offsetRecord(fmt.Sprintf("group-%d", i/100), "some-topic", int32(i%100), o)
	}
	m := New(DefaultConfig())
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Apply(records[i%len(records)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
