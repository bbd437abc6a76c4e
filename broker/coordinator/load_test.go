package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

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

// readHook is a log that calls a hook before each read.
type readHook struct {
	*memLog
	hook func()
}

func (l *readHook) Read(from kafka.Offset, buf []byte) ([]byte, error) {
	l.hook()
	return l.memLog.Read(from, buf)
}

// A load that is under way when the broker loses the quorum must not end in an active shard: nobody could reach it with a heartbeat, and
// the sessions of its members would end.
func TestFenceDuringTheLastStepOfALoad(t *testing.T) {
	b := newBench(t, 1)
	log := &memLog{}
	b.groups.Elected(0, 0, log)
	member := b.member("g")
	b.groups.Resigned(0, 0)

	log.set(func() { log.epoch = 1 })
	b.groups.Elected(0, 1, &readHook{log, b.groups.Fence})
	b.load()
	want(t, "state", b.groups.Facts()[0].State, "loading")
	b.clock.add(10 * time.Minute)
	b.groups.Tick()
	b.groups.Unfence()
	b.groups.shard(0).log.(*readHook).hook = func() {}
	b.load()
	hb := now[*kmsg.HeartbeatResponse](t, b.ask(heartbeatRequest("g", member, 1)))
	want(t, "the member is still there", kafka.ErrorCode(hb.ErrorCode), kafka.None)
}
