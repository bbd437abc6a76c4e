package coordinator

import (
	"fmt"
	"strings"
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
	if name != OffsetsTopic {
		return 0
	}
	return f.partitions
}

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

// What was acknowledged by an earlier leader is below the log's end, perhaps above the new leader's high watermark.
func TestNothingIsAnsweredBeforeEverythingAcknowledgedIsLoaded(t *testing.T) {
	log := &memLog{epoch: 1}
	b := newBench(t, 1)
	b.groups.Elected(0, 1, log)
	want(t, "commit", b.commit("g", 1), kafka.None)
	old := log.hw
	want(t, "commit", b.commit("g", 2), kafka.None)

	// The next leader has all records and an older high watermark.
	log.set(func() { log.hw, log.epoch = old, 2 })
	b2 := newBench(t, 1)
	b2.groups.Elected(0, 2, log)
	want(t, "before any load", b2.fetched("g"), "COORDINATOR_LOAD_IN_PROGRESS")
	b2.load()
	want(t, "with all read that is committed", b2.fetched("g"), "COORDINATOR_LOAD_IN_PROGRESS")
	hb := now[*kmsg.HeartbeatResponse](t, b2.ask(heartbeatRequest("g", "m", 1)))
	want(t, "heartbeat during load: all is well, as in Kafka", hb.ErrorCode, 0)
	list := now[*kmsg.ListGroupsResponse](t, b2.ask(&kmsg.ListGroupsRequest{Version: 5}))
	want(t, "a list without all groups", kafka.ErrorCode(list.ErrorCode), kafka.CoordinatorLoadInProgress)
	facts := b2.groups.Facts()
	if len(facts) != 1 || facts[0].State != "loading" || facts[0].LoadNext != old || facts[0].LoadTarget != log.end {
		t.Errorf("facts of the load: %+v", facts)
	}

	log.commit()
	b2.clock.add(watermarkPoll)
	b2.load()
	want(t, "loaded", b2.fetched("g"), "2")
	want(t, "state", b2.groups.Facts()[0].State, "active")
}

func TestAnswersWaitForTheCommit(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{hold: true}
	b.groups.Elected(0, 0, log)
	c := b.ask(commitRequest(9, "g", "t", 7))
	wantNone(t, "a commit that is not committed", c)
	want(t, "fetch meanwhile", b.fetched("g"), "-1")
	log.commit()
	want(t, "commit", now[*kmsg.OffsetCommitResponse](t, c).Topics[0].Partitions[0].ErrorCode, 0)
	want(t, "fetch", b.fetched("g"), "7")
}

func TestACommitThatTakesTooLongIsAnsweredAndStaysOnItsWay(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{hold: true}
	b.groups.Elected(0, 0, log)
	c := b.ask(commitRequest(9, "g", "t", 7))
	b.clock.add(5*time.Second - 1)
	b.groups.Tick()
	wantNone(t, "before the commit timeout", c)
	b.clock.add(1)
	b.groups.Tick()
	got := now[*kmsg.OffsetCommitResponse](t, c).Topics[0].Partitions[0].ErrorCode
	want(t, "commit", kafka.ErrorCode(got), kafka.CoordinatorNotAvailable)
	want(t, "fetch", b.fetched("g"), "-1")
	log.commit()
	want(t, "fetch when it is committed after all", b.fetched("g"), "7")
}

func TestARefusedAppendIsAnswered(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{refuse: kafka.NotEnoughReplicas}
	b.groups.Elected(0, 0, log)
	want(t, "commit", b.commit("g", 7), kafka.CoordinatorNotAvailable)
	want(t, "fetch", b.fetched("g"), "-1")
	log.set(func() { log.refuse = kafka.None })
	want(t, "commit again", b.commit("g", 8), kafka.None)
	want(t, "fetch", b.fetched("g"), "8")
}

// The log alone knows whether the batch is in it.
func TestAnAppendWithAnUnknownOutcomeLoadsAgain(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{}
	b.groups.Elected(0, 0, log)
	m := b.member("g")
	want(t, "commit", b.commit("h", 6), kafka.None)
	log.set(func() { log.unknown = kafka.NotEnoughReplicasAfterAppend })
	want(t, "commit", b.commit("h", 7), kafka.CoordinatorNotAvailable)
	log.set(func() { log.unknown = kafka.None })
	want(t, "meanwhile", b.fetched("h"), "COORDINATOR_NOT_AVAILABLE")
	log.commit()
	b.load()
	want(t, "before the pause is over", b.fetched("h"), "COORDINATOR_NOT_AVAILABLE")
	b.clock.add(reloadPause)
	b.load()
	want(t, "loaded again", b.fetched("h"), "7")
	hb := now[*kmsg.HeartbeatResponse](t, b.ask(heartbeatRequest("g", m, 1)))
	want(t, "a member is still a member", hb.ErrorCode, 0)
	want(t, "commit", b.commit("h", 8), kafka.None)
}

func TestForeignRecordsMakeTheShardLoadAgain(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{}
	b.groups.Elected(0, 0, log)
	want(t, "commit", b.commit("g", 1), kafka.None)

	other := newBench(t, 1)
	other.groups.Elected(0, 0, log)
	other.load()
	want(t, "commit of another writer", other.commit("g", 2), kafka.None)

	want(t, "the next append finds out", b.commit("h", 3), kafka.CoordinatorNotAvailable)
	b.clock.add(reloadPause)
	b.load()
	want(t, "fetch", b.fetched("g"), "2")
	want(t, "fetch", b.fetched("h"), "3")
}

func TestLateCallbacksOfAnOldEpochDoNothing(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{epoch: 1, hold: true}
	b.groups.Elected(0, 1, log)
	c := b.ask(commitRequest(9, "g", "t", 7))
	join := b.ask(joinRequest("g", ""))
	j := b.ask(joinRequest("g", now[*kmsg.JoinGroupResponse](t, join).MemberID))
	if (*j) == nil {
		t.Fatal("join of the only member waits")
	}
	b.groups.Elected(0, 1, &memLog{}) // again: nothing
	b.groups.Elected(0, 0, &memLog{}) // an old one: nothing
	b.groups.Resigned(0, 0)           // an old one: nothing
	wantNone(t, "the commit", c)

	var late []appendWait
	log.set(func() { late, log.waiting, log.epoch = log.waiting, nil, 2 })
	b.groups.Elected(0, 2, log)
	got := now[*kmsg.OffsetCommitResponse](t, c).Topics[0].Partitions[0].ErrorCode
	want(t, "the commit of the old epoch", kafka.ErrorCode(got), kafka.NotCoordinator)
	log.commit()
	b.clock.add(watermarkPoll)
	b.load()
	for _, w := range late {
		w.done(AppendResult{Code: kafka.NotLeaderOrFollower})
	}
	want(t, "the new epoch knows from the log", b.fetched("g"), "7")

	b.groups.Resigned(0, 1) // late as well
	want(t, "still there", b.fetched("g"), "7")
	b.groups.Resigned(0, 2)
	b.groups.Resigned(0, 2)
	want(t, "gone", b.fetched("g"), "NOT_COORDINATOR")
}

func TestDeposedWithWaitingRequests(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{hold: true}
	b.groups.Elected(0, 0, log)
	c := b.ask(commitRequest(9, "g", "t", 7))
	log.depose(1)
	got := now[*kmsg.OffsetCommitResponse](t, c).Topics[0].Partitions[0].ErrorCode
	want(t, "commit", kafka.ErrorCode(got), kafka.NotCoordinator)
	want(t, "until the image says so too", b.fetched("g"), "NOT_COORDINATOR")
}

func TestDamageKeepsTheShardLoadingAndIsRetried(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{}
	b.groups.Elected(0, 0, log)
	want(t, "commit", b.commit("g", 1), kafka.None)

	b2 := newBench(t, 1)
	log.set(func() { log.readErr = errDamage })
	b2.groups.Elected(0, 0, log)
	b2.load()
	want(t, "unreadable", b2.fetched("g"), "COORDINATOR_LOAD_IN_PROGRESS")
	want(t, "failures", b2.groups.Facts()[0].LoadFailures, 1)

	log.set(func() { log.readErr = nil; log.batches[0][len(log.batches[0])-1] ^= 1 })
	b2.clock.add(damagePause)
	b2.load()
	want(t, "a wrong checksum", b2.fetched("g"), "COORDINATOR_LOAD_IN_PROGRESS")
	want(t, "failures", b2.groups.Facts()[0].LoadFailures, 2)

	log.set(func() { log.batches[0][len(log.batches[0])-1] ^= 1 })
	b2.load()
	want(t, "not before the pause is over", b2.fetched("g"), "COORDINATOR_LOAD_IN_PROGRESS")
	b2.clock.add(damagePause)
	b2.load()
	want(t, "repaired", b2.fetched("g"), "1")
}

func TestLoadReadsInBoundedSteps(t *testing.T) {
	log := &memLog{}
	b := newBench(t, 1)
	b.groups.Elected(0, 0, log)
	for i := range int64(200) {
		want(t, "commit", b.commit(fmt.Sprintf("g%d", i), i), kafka.None)
	}
	b2 := newBench(t, 1)
	c := DefaultConfig()
	c.LoadBufferBytes = 1000
	b2.groups.Configure(c)
	b2.groups.Elected(0, 0, log)
	var buf []byte
	steps := 0
	for b2.groups.LoadStep(&buf) {
		steps++
	}
	if len(buf) != 1000 || steps < 10 {
		t.Errorf("%d steps with a buffer of %d bytes", steps, len(buf))
	}
	want(t, "last", b2.fetched("g199"), "199")
	f := b2.groups.Facts()[0]
	want(t, "records", f.LoadRecords, 200)
}

func TestManyRecordsAreSpreadOverBatches(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{hold: true}
	c := DefaultConfig()
	c.MaxBatchBytes = 500
	b.groups.Configure(c)
	b.groups.Elected(0, 0, log)
	offsets := make([]int64, 50)
	cell := b.ask(commitRequest(9, "g", "t", offsets...))
	small := b.ask(commitRequest(9, "h", "t", 1))
	if n := len(log.batches); n < 5 {
		t.Fatalf("%d batches", n)
	}
	for _, rb := range log.batches {
		if len(rb) > 500 {
			t.Errorf("a batch of %d bytes", len(rb))
		}
	}
	// The first part alone does not answer.
	first := log.waiting[0]
	log.set(func() { log.waiting = log.waiting[1:]; log.hw = first.next })
	first.done(AppendResult{BaseOffset: first.base})
	wantNone(t, "a commit of which a part is committed", cell)
	log.commit()
	for _, p := range now[*kmsg.OffsetCommitResponse](t, cell).Topics[0].Partitions {
		want(t, "partition", p.ErrorCode, 0)
	}
	want(t, "the next", now[*kmsg.OffsetCommitResponse](t, small).Topics[0].Partitions[0].ErrorCode, 0)

	// A part that is refused while another is on its way leaves the outcome open.
	cell = b.ask(commitRequest(9, "g", "t", offsets...))
	w := log.waiting[1]
	log.set(func() { log.waiting = append(log.waiting[:1:1], log.waiting[2:]...) })
	w.done(AppendResult{Code: kafka.NotEnoughReplicas})
	wantNone(t, "a commit of which the second part is refused", cell)
	log.commit()
	got := now[*kmsg.OffsetCommitResponse](t, cell).Topics[0].Partitions[0].ErrorCode
	want(t, "commit", kafka.ErrorCode(got), kafka.CoordinatorNotAvailable)
	want(t, "loads again", b.groups.Facts()[0].State, "loading")
}

func TestAppendsThatAreRefusedAndCommittedKeepTheirOrder(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{hold: true}
	b.groups.Elected(0, 0, log)
	one := b.ask(commitRequest(9, "g", "t", 1))
	log.set(func() { log.refuse = kafka.NotEnoughReplicas })
	two := b.ask(commitRequest(9, "g", "t", 2))
	wantNone(t, "a refusal behind one that waits", two)
	log.commit()
	want(t, "one", now[*kmsg.OffsetCommitResponse](t, one).Topics[0].Partitions[0].ErrorCode, 0)
	got := now[*kmsg.OffsetCommitResponse](t, two).Topics[0].Partitions[0].ErrorCode
	want(t, "two", kafka.ErrorCode(got), kafka.CoordinatorNotAvailable)
	want(t, "fetch", b.fetched("g"), "1")
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

// Many requests that come at once share a batch.
func TestRequestsShareABatch(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{}
	b.groups.Elected(0, 0, log)
	b.groups.Handle(fetchRequest(9, "g", "t", 0), Caller{}, func(kmsg.Response) {
		for i := range int64(100) {
			b.ask(commitRequest(9, fmt.Sprintf("g%d", i), "t", i))
		}
	})
	want(t, "batches", len(log.batches), 1)
	want(t, "records", log.end, 100)
}

// A broker that has lost the quorum does not know whether it still coordinates.
func TestAFencedBrokerCoordinatesNothing(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{hold: true}
	b.groups.Elected(0, 0, log)
	c := b.ask(commitRequest(9, "g", "t", 7))
	b.groups.Fence()
	b.groups.Fence()
	got := now[*kmsg.OffsetCommitResponse](t, c).Topics[0].Partitions[0].ErrorCode
	want(t, "who waits", kafka.ErrorCode(got), kafka.NotCoordinator)
	log.commit()
	b.load()
	want(t, "fenced", b.fetched("g"), "NOT_COORDINATOR")
	list := now[*kmsg.ListGroupsResponse](t, b.ask(&kmsg.ListGroupsRequest{Version: 5}))
	want(t, "list", kafka.ErrorCode(list.ErrorCode), kafka.CoordinatorNotAvailable)
	b.groups.Elected(1, 0, &memLog{})
	want(t, "elected meanwhile", b.groups.Facts()[1].State, "loading")
	b.groups.Unfence()
	want(t, "unfenced", b.fetched("g"), "COORDINATOR_LOAD_IN_PROGRESS")
	b.load()
	want(t, "loaded again", b.fetched("g"), "7")
}
