package handler

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// fetchFrom is a fetch of partition 0 of topics that does not wait.
func fetchFrom(version int16, from int64, topics ...string) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.MaxBytes, req.SessionEpoch = version, -1, 1<<20, -1
	for _, name := range topics {
		p := kmsg.NewFetchRequestTopicPartition()
		p.FetchOffset, p.PartitionMaxBytes = from, 1<<20
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID, t.Partitions = name, topicID(name), []kmsg.FetchRequestTopicPartition{p}
		req.Topics = append(req.Topics, t)
	}
	return req
}

// waiting makes a fetch a long poll.
func waiting(req *kmsg.FetchRequest, wait time.Duration) *kmsg.FetchRequest {
	req.MaxWaitMillis, req.MinBytes = int32(wait.Milliseconds()), 1
	return req
}

// sizes are the bytes of records that each partition of an answer has.
func sizes(resp *kmsg.FetchResponse) (n []int) {
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			n = append(n, len(p.RecordBatches))
		}
	}
	return n
}

func TestFetchIsAnsweredInEveryVersion(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		w.write("t", "a", "b")
		w.write("t", "c")
		for version := int16(4); version <= 18; version++ {
			resp := ask[*kmsg.FetchResponse](w, fetchFrom(version, 1, "t"))
			p := resp.Topics[0].Partitions[0]
			b, rest, err := record.Next(p.RecordBatches)
			if err != nil || p.ErrorCode != 0 || p.HighWatermark != 3 || p.LastStableOffset != 3 || b.BaseOffset() != 0 || len(rest) == 0 || !b.CheckCRC() {
				t.Errorf("version %d: %v %+v", version, err, p)
			}
			if version < 13 && resp.Topics[0].Topic != "t" || version >= 13 && kafka.TopicID(resp.Topics[0].TopicID) != topicID("t") {
				t.Errorf("version %d: topic %q %v", version, resp.Topics[0].Topic, resp.Topics[0].TopicID)
			}
		}
	})
}

func TestFetchAnswersWithTheErrorOfEachPartition(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		w.topic("away", on(other, self))
		w.topic("far", on(other, third))
		w.write("t", "a")
		w.elect("t", self) // epoch 1
		f := func(what, topic string, from int64, epoch int32, want kafka.ErrorCode) {
			t.Helper()
			for _, version := range []int16{9, 12, 13, 18} {
				code := want
				if version >= 13 && topic == "missing" {
					code = kafka.UnknownTopicID
				}
				req := fetchFrom(version, from, topic)
				req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
				p := ask[*kmsg.FetchResponse](w, waiting(req, time.Hour)).Topics[0].Partitions[0]
				w.code(fmt.Sprintf("%s, version %d", what, version), p.ErrorCode, code)
			}
		}
		f("no such topic", "missing", 0, -1, kafka.UnknownTopicOrPartition)
		f("a topic of others", "far", 0, -1, kafka.NotLeaderOrFollower)
		f("beyond the end", "t", 2, -1, kafka.OffsetOutOfRange)
		f("before the start", "t", -5, -1, kafka.OffsetOutOfRange)
		f("an old epoch", "t", 0, 0, kafka.FencedLeaderEpoch)
		f("a new epoch", "t", 0, 9, kafka.UnknownLeaderEpoch)
		f("the right epoch", "t", 0, 1, kafka.None)
		w.code("a follower before it could be read", ask[*kmsg.FetchResponse](w, fetchFrom(10, 0, "away")).Topics[0].Partitions[0].ErrorCode, kafka.NotLeaderOrFollower)
		w.code("a follower", ask[*kmsg.FetchResponse](w, fetchFrom(11, 0, "away")).Topics[0].Partitions[0].ErrorCode, kafka.None)
		req := fetchFrom(17, 0, "t")
		req.ReplicaState.ID = int32(third)
		w.code("a follower that has no replica", ask[*kmsg.FetchResponse](w, req).Topics[0].Partitions[0].ErrorCode, kafka.UnknownLeaderEpoch)
		w.manager.Fence()
		w.code("a broker that lost the quorum", ask[*kmsg.FetchResponse](w, fetchFrom(13, 0, "t")).Topics[0].Partitions[0].ErrorCode, kafka.NotLeaderOrFollower)
	})
}

func TestFetchHintsAtTheLeader(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("far", on(other, third))
		for version := int16(15); version <= 18; version++ {
			resp := ask[*kmsg.FetchResponse](w, fetchFrom(version, 0, "far"))
			if version < 16 {
				continue
			}
			if leader := resp.Topics[0].Partitions[0].CurrentLeader; kafka.NodeID(leader.LeaderID) != other || leader.LeaderEpoch != 0 {
				t.Errorf("version %d: leader %+v", version, leader)
			}
			if len(resp.Brokers) != 1 || resp.Brokers[0].Host != "host2" {
				t.Errorf("version %d: brokers %+v", version, resp.Brokers)
			}
		}
	})
}

// TestFetchStaysWithinItsBounds: the first batch of the first partition that has one is whole, everything else must fit.
func TestFetchStaysWithinItsBounds(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, name := range []string{"empty", "a", "b"} {
			w.topic(name, on(self))
		}
		value := string(make([]byte, 1000))
		for range 3 {
			w.write("a", value)
			w.write("b", value)
		}
		one := sizes(ask[*kmsg.FetchResponse](w, fetchFrom(12, 2, "a")))[0]
		f := func(what string, total, each int32, want ...int) {
			t.Helper()
			req := fetchFrom(12, 0, "empty", "a", "b")
			req.MaxBytes = total
			for i := range req.Topics {
				req.Topics[i].Partitions[0].PartitionMaxBytes = each
			}
			if got := sizes(ask[*kmsg.FetchResponse](w, req)); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		n := int32(one)
		f("room for all", 1<<20, 1<<20, 0, 3*one, 3*one)
		f("no room at all", 0, 1<<20, 0, one, 0)
		f("less than none", -1, -1, 0, one, 0)
		f("a partition's bound of nothing", 1<<20, 0, 0, one, 0)
		f("one byte short of two", 2*n-1, 1<<20, 0, one, 0)
		f("two", 2*n, 1<<20, 0, 2*one, 0)
		f("two of each", 1<<20, 2*n, 0, 2*one, 2*one)
		f("four in all", 4*n, 1<<20, 0, 3*one, one)
		w.set("fetch.max.bytes", fmt.Sprint(max(n, 1024)))
		f("the broker's own bound", 1<<30, 1<<20, 0, one, 0)
	})
}

func TestFetchSkipsAbortedTransactionsWhenAsked(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		w.write("t", "a")
		req := fetchFrom(12, 0, "t")
		p := ask[*kmsg.FetchResponse](w, req).Topics[0].Partitions[0]
		if p.AbortedTransactions != nil {
			t.Errorf("read_uncommitted: aborted %v, want null", p.AbortedTransactions)
		}
		req.IsolationLevel = 1
		p = ask[*kmsg.FetchResponse](w, req).Topics[0].Partitions[0]
		if len(p.AbortedTransactions) != 0 || len(p.RecordBatches) == 0 {
			t.Errorf("read_committed: %+v", p)
		}
	})
}

func TestTheLastMentionOfADoubledPartitionIsFetched(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		w.write("t", "a")
		w.write("t", "b")
		req := fetchFrom(12, 0, "t", "t")
		req.Topics[1].Partitions[0].FetchOffset = 1
		resp := ask[*kmsg.FetchResponse](w, req)
		if b, rest, err := record.Next(resp.Topics[0].Partitions[0].RecordBatches); len(sizes(resp)) != 1 || err != nil || b.BaseOffset() != 1 || len(rest) != 0 {
			t.Errorf("%v %+v", err, resp)
		}
	})
}

func TestFetchSessionsTellOnlyNews(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("a", on(self))
		w.write("a", "1")
		for _, version := range []int16{7, 12, 13, 18} {
			b := fmt.Sprint("b", version)
			w.topic(b, on(self))
			req := fetchFrom(version, 0, "a", b)
			req.SessionEpoch = 0
			first := ask[*kmsg.FetchResponse](w, req)
			if len(first.Topics) != 2 || first.SessionID == 0 {
				t.Fatalf("version %d: %+v", version, first)
			}
			next := func(epoch int32, topics ...string) *kmsg.FetchResponse {
				req := fetchFrom(version, 1, topics...)
				req.SessionID, req.SessionEpoch = first.SessionID, epoch
				return ask[*kmsg.FetchResponse](w, req)
			}
			if got := next(1, "a"); len(got.Topics) != 0 || got.SessionID != first.SessionID {
				t.Errorf("version %d: no news: %+v", version, got)
			}
			w.write(b, "2")
			if got := next(2); len(got.Topics) != 1 || len(got.Topics[0].Partitions[0].RecordBatches) == 0 {
				t.Errorf("version %d: news of b: %+v", version, got)
			}
			w.code("an epoch that is not the next", next(2).ErrorCode, kafka.InvalidFetchSessionEpoch)
			w.code("the session goes on", next(3).ErrorCode, kafka.None)
			other := fetchFrom(version, 0)
			other.SessionID, other.SessionEpoch = first.SessionID+1, 1
			w.code("no such session", ask[*kmsg.FetchResponse](w, other).ErrorCode, kafka.FetchSessionIDNotFound)
			kind := fetchFrom(map[int16]int16{7: 18, 12: 13, 13: 12, 18: 7}[version], 0)
			kind.SessionID, kind.SessionEpoch = first.SessionID, 4
			w.code("by name in a session by id, or the reverse", ask[*kmsg.FetchResponse](w, kind).ErrorCode, kafka.FetchSessionTopicIDError)
			end := fetchFrom(version, 0, "a")
			end.SessionID = first.SessionID
			if got := ask[*kmsg.FetchResponse](w, end); got.SessionID != 0 || len(got.Topics) != 1 {
				t.Errorf("version %d: the last fetch: %+v", version, got)
			}
			w.code("the session is over", next(4).ErrorCode, kafka.FetchSessionIDNotFound)
		}
	})
}

// TestASessionIsForOneFetchAtATime: a second one meanwhile is refused, and does not disturb the first.
func TestASessionIsForOneFetchAtATime(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		req := fetchFrom(13, 0, "t")
		req.SessionEpoch = 0
		id := ask[*kmsg.FetchResponse](w, req).SessionID
		next := fetchFrom(13, 0)
		next.SessionID, next.SessionEpoch = id, 1
		poll := w.send(waiting(next, time.Minute))
		if !poll.pending() {
			t.Fatal("answered without news")
		}
		again := fetchFrom(13, 0)
		again.SessionID, again.SessionEpoch = id, 2
		w.code("meanwhile", ask[*kmsg.FetchResponse](w, again).ErrorCode, kafka.InvalidFetchSessionEpoch)
		w.write("t", "a")
		if got := poll.response().(*kmsg.FetchResponse); got.ErrorCode != 0 || len(got.Topics) != 1 {
			t.Errorf("%+v", got)
		}
		again.Topics = nil
		w.code("afterwards", ask[*kmsg.FetchResponse](w, again).ErrorCode, kafka.None)
	})
}

func TestLongPollWakes(t *testing.T) {
	for _, c := range []struct {
		name string
		wake func(w *world)
		code kafka.ErrorCode
		data bool
	}{
		{"by a produce", func(w *world) { w.write("t", "a"); w.follow("t", 1) }, kafka.None, true},
		{"by a change of leadership", func(w *world) { w.elect("t", other) }, kafka.NotLeaderOrFollower, false},
		{"by a deletion", func(w *world) { w.apply(&metadata.RemoveTopic{ID: topicID("t")}) }, kafka.UnknownTopicOrPartition, false},
		{"by a broker that fences itself", func(w *world) { w.manager.Fence() }, kafka.NotLeaderOrFollower, false},
		{"by a directory that fails", func(w *world) {
			w.fs.Inject(vfs.Fault{Op: vfs.OpWrite, Err: syscall.EIO})
			p, _ := w.manager.Get(kafka.TopicPartition{Topic: "u"})
			p.Produce(partition.ProduceRequest{Records: batch(w.t, record.BuilderOptions{}, "a"), Version: 11, LeaderEpoch: kafka.NoLeaderEpoch, Wall: w.Wall(), Now: w.Elapsed()},
				func(partition.ProduceResult) {})
			w.pass(partition.TickEvery)
		}, kafka.KafkaStorageError, false},
		{"at the end of its time", func(w *world) { w.pass(time.Minute) }, kafka.None, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.topic("t", on(self, other))
				w.topic("u", on(self))
				poll := w.send(waiting(fetchFrom(10, 0, "u", "t"), time.Minute))
				w.pass(30 * time.Second)
				if !poll.pending() {
					t.Fatal("answered before")
				}
				c.wake(w)
				if poll.pending() {
					t.Fatal("not answered")
				}
				p := poll.response().(*kmsg.FetchResponse).Topics[1].Partitions[0]
				w.code(c.name, p.ErrorCode, c.code)
				if (len(p.RecordBatches) > 0) != c.data {
					t.Errorf("%d bytes of records", len(p.RecordBatches))
				}
			})
		})
	}
}

func TestALongPollOfAClientThatIsGoneEnds(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		w.write("t", "a")
		req := waiting(fetchFrom(12, 0, "t"), time.Minute)
		req.MinBytes = 1 << 20
		poll := w.send(req)
		if !poll.pending() {
			t.Fatal("answered with less than the least")
		}
		w.disconnect()
		if poll.pending() || poll.outcome() != conn.Closed {
			t.Error("the poll goes on without its connection")
		}
	})
}

// TestLongPollCountsWhatItHasAlready: min bytes over all partitions, each read again only when it has news.
func TestLongPollCountsWhatItHasAlready(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("a", on(self))
		w.topic("b", on(self))
		req := waiting(fetchFrom(12, 0, "a", "b"), time.Minute)
		req.MinBytes = 200
		poll := w.send(req)
		for _, topic := range []string{"a", "b", "a"} {
			if !poll.pending() {
				t.Fatalf("answered before there are 200 bytes: %v", sizes(poll.response().(*kmsg.FetchResponse)))
			}
			w.write(topic, "0123456789")
		}
		got := sizes(poll.response().(*kmsg.FetchResponse))
		if got[0] != 2*got[1] || got[1] == 0 {
			t.Errorf("sizes %v", got)
		}
	})
}

// TestAFollowersLongPollSeesTheLogEnd, a consumer's what is committed.
func TestAFollowersLongPollSeesTheLogEnd(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self, other))
		req := fetchFrom(17, 0, "t")
		req.ReplicaState.ID, req.ReplicaState.Epoch = int32(other), int64(other)
		consumer, follower := w.send(waiting(fetchFrom(17, 0, "t"), time.Hour)), w.send(waiting(req, time.Hour))
		w.write("t", "a")
		if follower.pending() || !consumer.pending() {
			t.Fatal("want the follower answered and the consumer waiting")
		}
		if n := sizes(follower.response().(*kmsg.FetchResponse)); n[0] == 0 {
			t.Error("the follower got nothing")
		}
		w.follow("t", 1)
		if n := sizes(consumer.response().(*kmsg.FetchResponse)); n[0] == 0 {
			t.Error("the consumer got nothing")
		}
	})
}

// TestFilesOfAnswersAreGivenBack: a topic that was deleted while answers had ranges of its files is closed when they are done with.
func TestFilesOfAnswersAreGivenBack(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		w.write("t", "a")
		a := w.send(fetchFrom(12, 0, "t"))
		w.apply(&metadata.RemoveTopic{ID: topicID("t")})
		_, chunks, _ := a.reply.Result()
		owners := 0
		for _, c := range chunks {
			if c.File != nil {
				owners++
				if c.Owner == nil {
					t.Error("a range of a file without owner")
				}
			}
		}
		if n := sizes(a.response().(*kmsg.FetchResponse)); owners != 1 || n[0] == 0 {
			t.Errorf("%d ranges, sizes %v", owners, n)
		}
	})
}

// TestManyTopicsByTurnsKeepTheirNames: topics that are named in several parts of the request are answered in its order.
func TestManyTopicsByTurnsKeepTheirNames(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("a", on(self), on(self))
		w.topic("b", on(self))
		req := fetchFrom(12, 0, "a", "b", "a")
		req.Topics[2].Partitions[0].Partition = 1
		resp := ask[*kmsg.FetchResponse](w, req)
		var names string
		for _, t := range resp.Topics {
			names += t.Topic + " "
		}
		if names != "a b a " || resp.Topics[2].Partitions[0].Partition != 1 {
			t.Errorf("%s: %+v", names, resp.Topics)
		}
	})
}
