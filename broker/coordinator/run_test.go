package coordinator

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/go-logr/logr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// bubbleClock is time.Now, which is virtual in a bubble.
type bubbleClock struct{ start time.Time }

func (c bubbleClock) Elapsed() kafka.Elapsed { return kafka.Elapsed(time.Since(c.start)) }
func (c bubbleClock) Wall() kafka.Timestamp  { return kafka.TimestampOf(time.Now()) }

func runningGroups(partitions int32) (g *Groups, stop func()) {
	var ids atomic.Uint32
	topics := &fakeTopics{ids: map[string]kafka.TopicID{"t": {15: 1}}, partitions: partitions}
	g = NewGroups(Options{
		Clock: bubbleClock{time.Now()}, Topics: topics, Log: logr.Discard(), Config: DefaultConfig(),
		NewID: func() kafka.UUID { n := ids.Add(1); return kafka.UUID{14: byte(n >> 8), 15: byte(n)} },
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		g.Run(ctx)
		close(done)
	}()
	return g, func() {
		cancel()
		<-done
	}
}

// call waits for the answer.
func call[R kmsg.Response](g *Groups, req kmsg.Request) R {
	c := make(chan kmsg.Response, 1)
	g.Handle(req, Caller{ClientID: "c"}, func(r kmsg.Response) { c <- r })
	return (<-c).(R)
}

func TestRunFiresDeadlinesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, stop := runningGroups(1)
		g.Elected(0, 0, &memLog{})
		start := time.Now()
		id := call[*kmsg.JoinGroupResponse](g, joinRequest("g", "")).MemberID
		join := call[*kmsg.JoinGroupResponse](g, joinRequest("g", id))
		want(t, "join", join.ErrorCode, 0)
		want(t, "initial delay", time.Since(start), 3*time.Second)
		call[*kmsg.SyncGroupResponse](g, syncRequest("g", id, 1))

		// The session of the member ends a rebalance that waits for it.
		start = time.Now()
		second := call[*kmsg.JoinGroupResponse](g, joinRequest("g", "")).MemberID
		join = call[*kmsg.JoinGroupResponse](g, joinRequest("g", second))
		want(t, "leader", join.LeaderID, second)
		want(t, "session", time.Since(start), 10*time.Second)

		waits := make(chan kmsg.Response, 1)
		third := call[*kmsg.JoinGroupResponse](g, joinRequest("g", "")).MemberID
		g.Handle(joinRequest("g", third), Caller{}, func(r kmsg.Response) { waits <- r })
		stop()
		code := kafka.ErrorCode((<-waits).(*kmsg.JoinGroupResponse).ErrorCode)
		want(t, "who waits when the broker stops", code, kafka.NotCoordinator)
	})
}

func TestRunLoadsSeveralShardsAtATime(t *testing.T) {
	logs := make([]*memLog, 8)
	for p := range logs {
		logs[p] = &memLog{}
		b := newBench(t, 1)
		b.groups.Elected(0, 0, logs[p])
		want(t, "commit", b.commit("g", int64(p)), kafka.None)
	}
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		for p := range logs {
			logs[p].gate = gate
		}
		g, stop := runningGroups(int32(len(logs)))
		defer stop()
		for p := range logs {
			g.Elected(int32(p), 1, logs[p])
		}
		synctest.Wait() // every loader waits in a read
		claimed := 0
		for _, s := range g.sorted() {
			if s.loadAt() == never {
				claimed++
			}
		}
		want(t, "loads at a time", claimed, DefaultConfig().Loaders)
		close(gate)
		synctest.Wait()
		for _, f := range g.Facts() {
			want(t, fmt.Sprint("partition ", f.Partition), f.State, "active")
		}
	})
}

func TestRunWaitsForTheHighWatermark(t *testing.T) {
	log := &memLog{}
	b := newBench(t, 1)
	b.groups.Elected(0, 0, log)
	want(t, "commit", b.commit("g", 1), kafka.None)
	log.set(func() { log.hw = 0 })
	synctest.Test(t, func(t *testing.T) {
		g, stop := runningGroups(1)
		defer stop()
		g.Elected(0, 0, log)
		time.Sleep(time.Second)
		want(t, "state", g.Facts()[0].State, "loading")
		log.commit()
		time.Sleep(watermarkPoll)
		synctest.Wait()
		want(t, "state", g.Facts()[0].State, "active")
	})
}

// Many goroutines, elections among them: for the race detector, and every request is answered once.
func TestConcurrentUse(t *testing.T) {
	g, stop := runningGroups(4)
	var logs [4]*memLog
	for p := range logs {
		logs[p] = &memLog{}
		g.Elected(int32(p), 0, logs[p])
	}
	var answers atomic.Int64
	var wg sync.WaitGroup
	const callers, each = 8, 300
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("g%d", (c*each+i)%50)
				reply := func(kmsg.Response) { answers.Add(1) }
				switch i % 5 {
				case 0:
					g.Handle(commitRequest(9, id, "t", int64(i)), Caller{}, reply)
				case 1:
					g.Handle(fetchRequest(9, id, "t", 0), Caller{}, reply)
				case 2:
					g.Handle(joinRequest(id, ""), Caller{ClientID: "c"}, reply)
				case 3:
					g.Handle(&kmsg.ListGroupsRequest{Version: 5}, Caller{}, reply)
				case 4:
					g.Handle(&kmsg.DeleteGroupsRequest{Version: 2, Groups: []string{id, "x", "y"}}, Caller{}, reply)
				}
				g.TopicsChanged()
			}
		})
	}
	wg.Go(func() {
		for e := range kafka.LeaderEpoch(20) {
			p := int(e) % 4
			logs[p].depose(e + 1)
			g.Elected(int32(p), e+1, logs[p])
			if e%5 == 0 {
				g.Resigned(int32(p), e+1)
			}
		}
	})
	wg.Wait()
	stop()
	want(t, "answers", answers.Load(), callers*each)
}
