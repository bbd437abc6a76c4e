package coordinator

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestSchedules moves one shard between brokers, with a log that is slow, refuses, leaves outcomes open and loses its
// uncommitted end, and checks that an acknowledged commit is always fetched, that an answer is never "none" after one,
// and that what a broker holds is what a fresh load gives.
func TestSchedules(t *testing.T) {
	n := 200
	if testing.Short() {
		n = 20
	}
	base := rand.Uint64()
	for i := range n {
		seed := base + uint64(i)
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { runSchedule(t, seed) }) {
			return
		}
	}
}

func runSchedule(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	log := &memLog{hold: true}
	b := newBench(t, 1)
	b.groups.Elected(0, 0, log)
	const groups = 4
	var acked, tried [groups]int64
	var trace []string
	tracef := func(format string, args ...any) { trace = append(trace, fmt.Sprintf(format, args...)) }
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf(format+"\n%s", append(args, strings.Join(trace[max(0, len(trace)-40):], "\n"))...)
	}
	check := func(i int) {
		got := now[*kmsg.OffsetFetchResponse](t, b.ask(fetchRequest(9, fmt.Sprint("g", i), "t", 0))).Groups[0]
		if got.ErrorCode != 0 {
			tracef("fetch g%d: %s", i, kafka.ErrorCode(got.ErrorCode))
			return
		}
		offset := max(got.Topics[0].Partitions[0].Offset, 0)
		tracef("fetch g%d: %d", i, offset)
		if offset < acked[i] || offset > tried[i] {
			fail("g%d: fetched %d, acknowledged %d, tried %d", i, offset, acked[i], tried[i])
		}
	}
	var committed kafka.Offset // the highest watermark that any leader had: nothing below is lost
	for range 400 {
		committed = max(committed, log.hw)
		i := rnd.IntN(groups)
		switch k := rnd.IntN(100); {
		case k < 40:
			tried[i]++
			value := tried[i]
			tracef("commit g%d: %d", i, value)
			b.groups.Handle(commitRequest(9, fmt.Sprint("g", i), "t", value), Caller{}, func(r kmsg.Response) {
				code := kafka.ErrorCode(r.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
				tracef("commit g%d: %d is answered %s", i, value, code)
				if code == kafka.None {
					acked[i] = max(acked[i], value)
				}
			})
		case k < 60:
			check(i)
		case k < 75:
			tracef("committed")
			log.commit()
		case k < 80:
			d := time.Duration(rnd.IntN(6000)) * time.Millisecond
			b.clock.add(d)
			b.groups.Tick()
			b.load()
		case k < 84:
			refuse := []kafka.ErrorCode{kafka.None, kafka.NotEnoughReplicas}[rnd.IntN(2)]
			log.set(func() { log.refuse = refuse })
		case k < 87:
			tracef("outcomes are open")
			log.set(func() { log.unknown = kafka.NotEnoughReplicasAfterAppend })
		case k < 90:
			log.set(func() { log.unknown = kafka.None })
		case k < 97:
			// Another broker is elected. Of the uncommitted end it has a part, and its high watermark may be behind.
			log.depose(log.epoch + 1)
			log.set(func() {
				for log.end > committed && rnd.IntN(2) == 0 {
					last := log.batches[len(log.batches)-1]
					log.end, log.batches = last.BaseOffset(), log.batches[:len(log.batches)-1]
				}
				for _, rb := range log.batches {
					if rb.NextOffset() < log.hw && rnd.IntN(4) == 0 {
						log.hw = rb.NextOffset()
					}
				}
				log.refuse, log.unknown = 0, 0
			})
			tracef("epoch %d, high watermark %d, end %d", log.epoch, log.hw, log.end)
			clock := b.clock
			b = newBench(t, 1)
			b.clock.elapsed = clock.elapsed
			b.groups.Elected(0, log.epoch, log)
			b.load()
		default:
			b.load()
		}
	}
	log.set(func() { log.refuse, log.unknown = 0, 0 })
	for range 3 {
		log.commit()
		b.clock.add(reloadPause)
		b.groups.Tick()
		b.load()
	}
	for i := range groups {
		if got := b.fetched(fmt.Sprint("g", i)); strings.HasPrefix(got, "COORD") {
			fail("g%d is still %s", i, got)
		}
		check(i)
	}
	fresh := newBench(t, 1)
	fresh.groups.Elected(0, log.epoch, log)
	fresh.load()
	if got, live := fresh.groups.shard(0).machine.Dump(), b.groups.shard(0).machine.Dump(); got != live {
		fail("a fresh load differs\nloaded:\n%slive:\n%s", got, live)
	}
}
