package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

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
