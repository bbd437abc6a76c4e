package coordinator

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/go-logr/logr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fakeClock moves when it is told to.
type fakeClock struct {
	mu      sync.Mutex
	elapsed kafka.Elapsed
}

func (c *fakeClock) Elapsed() kafka.Elapsed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elapsed
}

func (c *fakeClock) Wall() kafka.Timestamp {
	return 1_000_000 + kafka.Timestamp(time.Duration(c.Elapsed())/time.Millisecond)
}

func (c *fakeClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed = c.elapsed.Add(d)
}

// fakeTopics is a cluster's topics.
type fakeTopics struct {
	mu         sync.Mutex
	ids        map[string]kafka.TopicID
	partitions int32
}

func (f *fakeTopics) TopicID(name string) (kafka.TopicID, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, ok := f.ids[name]
	return id, ok
}

func (f *fakeTopics) TopicName(id kafka.TopicID) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, i := range f.ids {
		if i == id {
			return name, true
		}
	}
	return "", false
}

func (f *fakeTopics) Partitions(name string) int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name == OffsetsTopic {
		return f.partitions
	}
	if _, ok := f.ids[name]; ok {
		return dataPartitions
	}
	return 0
}

// dataPartitions is how many partitions every topic of a test has.
const dataPartitions = 1000

func (f *fakeTopics) set(name string, id byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.ids, name)
	if id != 0 {
		f.ids[name] = kafka.TopicID{15: id}
	}
}

// bench is Groups with one partition, or as many as logs are given.
type bench struct {
	t      *testing.T
	clock  *fakeClock
	topics *fakeTopics
	groups *Groups
	ids    byte
}

func newBench(t *testing.T, partitions int32) *bench {
	b := &bench{t: t, clock: &fakeClock{}, topics: &fakeTopics{ids: map[string]kafka.TopicID{}, partitions: partitions}}
	b.topics.set("t", 1)
	c := DefaultConfig()
	c.Group.InitialRebalanceDelay = 0
	c.LoadBufferBytes = 64 << 10
	b.groups = NewGroups(Options{
		Clock: b.clock, Topics: b.topics, Log: logr.Discard(), Config: c,
		NewID: func() kafka.UUID { b.ids++; return kafka.UUID{15: b.ids} },
	})
	return b
}

// load lets loaders work until there is nothing to do now.
func (b *bench) load() {
	var buf []byte
	for b.groups.LoadStep(&buf) {
	}
}

// ask sends a request and gives the cell in which its answer will be.
func (b *bench) ask(req kmsg.Request) *kmsg.Response {
	b.t.Helper()
	cell := new(kmsg.Response)
	b.groups.Handle(req, Caller{ClientID: "c", ClientHost: "/h"}, func(r kmsg.Response) {
		if *cell != nil {
			b.t.Errorf("%T is answered twice", req)
		}
		if r.GetVersion() != req.GetVersion() {
			b.t.Errorf("%T of version %d is answered with version %d", req, req.GetVersion(), r.GetVersion())
		}
		*cell = r
	})
	return cell
}

// now is the answer, which must be there.
func now[R kmsg.Response](t *testing.T, cell *kmsg.Response) R {
	t.Helper()
	if *cell == nil {
		t.Fatalf("no answer yet, want %T", *new(R))
	}
	return (*cell).(R)
}

func wantNone(t *testing.T, what string, cell *kmsg.Response) {
	t.Helper()
	if *cell != nil {
		t.Fatalf("%s is answered already: %+v", what, *cell)
	}
}

func commitRequest(v int16, id, topic string, offsets ...int64) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.Generation = v, id, -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = topic
	for p, o := range offsets {
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset = int32(p), o
		rt.Partitions = append(rt.Partitions, rp)
	}
	r.Topics = append(r.Topics, rt)
	return r
}

func fetchRequest(v int16, id, topic string, partitions ...int32) *kmsg.OffsetFetchRequest {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version, r.Group = v, id
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = id
	if topic != "" {
		rt := kmsg.NewOffsetFetchRequestTopic()
		rt.Topic, rt.Partitions = topic, partitions
		r.Topics = append(r.Topics, rt)
		gt := kmsg.NewOffsetFetchRequestGroupTopic()
		gt.Topic, gt.Partitions = topic, partitions
		g.Topics = append(g.Topics, gt)
	}
	r.Groups = append(r.Groups, g)
	return r
}

// commit commits and gives the code of the first partition.
func (b *bench) commit(id string, offsets ...int64) kafka.ErrorCode {
	b.t.Helper()
	r := now[*kmsg.OffsetCommitResponse](b.t, b.ask(commitRequest(9, id, "t", offsets...)))
	return kafka.ErrorCode(r.Topics[0].Partitions[0].ErrorCode)
}

// fetched is what OffsetFetch 9 says of partition 0 of t: the offset, or the code.
func (b *bench) fetched(id string) string {
	b.t.Helper()
	g := now[*kmsg.OffsetFetchResponse](b.t, b.ask(fetchRequest(9, id, "t", 0))).Groups[0]
	if g.ErrorCode != 0 {
		return kafka.ErrorCode(g.ErrorCode).String()
	}
	return fmt.Sprint(g.Topics[0].Partitions[0].Offset)
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func joinRequest(id, member string) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID, r.ProtocolType = 9, id, member, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 10_000, 10_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", []byte("any")
	r.Protocols = append(r.Protocols, p)
	return r
}

func syncRequest(id, member string, generation int32) *kmsg.SyncGroupRequest {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 5, id, member, generation
	a := kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID, a.MemberAssignment = member, []byte("all")
	r.GroupAssignment = append(r.GroupAssignment, a)
	return r
}

func heartbeatRequest(id, member string, generation int32) *kmsg.HeartbeatRequest {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 4, id, member, generation
	return r
}

// member joins and syncs as the only member of the group and gives its id.
func (b *bench) member(id string) string {
	b.t.Helper()
	first := now[*kmsg.JoinGroupResponse](b.t, b.ask(joinRequest(id, "")))
	want(b.t, "first join", kafka.ErrorCode(first.ErrorCode), kafka.MemberIDRequired)
	joined := now[*kmsg.JoinGroupResponse](b.t, b.ask(joinRequest(id, first.MemberID)))
	want(b.t, "join", kafka.ErrorCode(joined.ErrorCode), kafka.None)
	s := now[*kmsg.SyncGroupResponse](b.t, b.ask(syncRequest(id, joined.MemberID, joined.Generation)))
	want(b.t, "sync", string(s.MemberAssignment), "all")
	return joined.MemberID
}
