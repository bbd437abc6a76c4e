package handler

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
)

// fetcher is a client with a session that knows only what it was told.
type fetcher struct {
	w       *world
	version int16
	replica kafka.NodeID
	ids     map[string]kafka.TopicID // of its topics as it knows them
	session int32
	epoch   int32
	at      map[string]int64                            // offset to fetch, as last named to the session
	view    map[string]kmsg.FetchResponseTopicPartition // what it was told last
	moved   map[string]bool                             // to be named in the next request
}

func (f *fetcher) request(topics ...string) *kmsg.FetchRequest {
	req := fetchFrom(f.version, 0)
	req.SessionID, req.SessionEpoch = f.session, f.epoch
	if f.replica != kafka.NoNode {
		req.ReplicaID = int32(f.replica)
		req.ReplicaState.ID, req.ReplicaState.Epoch = int32(f.replica), int64(f.replica)
	}
	for _, name := range topics {
		one := fetchFrom(f.version, f.at[name], name)
		one.Topics[0].TopicID = f.ids[name]
		req.Topics = append(req.Topics, one.Topics[0])
	}
	return req
}

// take takes an answer in, and moves on behind the records that it has.
func (f *fetcher) take(resp *kmsg.FetchResponse) {
	if resp.ErrorCode != 0 {
		f.w.t.Fatalf("code %d", resp.ErrorCode)
	}
	f.session = resp.SessionID
	f.epoch++
	for _, t := range resp.Topics {
		name := t.Topic
		for n, id := range f.ids {
			if f.version >= 13 && id == t.TopicID {
				name = n
			}
		}
		p := t.Partitions[0]
		if len(p.RecordBatches) > 0 {
			f.at[name], f.moved[name] = p.HighWatermark, true
			p.RecordBatches = nil
		}
		if here, code := f.w.manager.Get(kafka.TopicPartition{Topic: name}); p.ErrorCode == int16(kafka.OffsetOutOfRange) && code == kafka.None {
			f.at[name], f.moved[name] = int64(here.Describe().LogStart), true
		}
		f.view[name] = p
	}
}

func (f *fetcher) fetch() {
	var named []string
	for _, name := range names(f.ids) {
		if f.moved[name] {
			named = append(named, name)
		}
	}
	clear(f.moved)
	f.take(ask[*kmsg.FetchResponse](f.w, f.request(named...)))
}

func names(ids map[string]kafka.TopicID) (list []string) {
	for i := range len(ids) {
		list = append(list, fmt.Sprint("t", i))
	}
	return list
}

// Whatever happens to topics, a session tells what a fetch without session tells. Time stands still, so that it is the
// watches that tell, not the turns.
func TestWatchedSessionsTellWhatAFullFetchTells(t *testing.T) {
	for seed := range uint64(60) {
		inWorld(t, func(w *world) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			ids := map[string]kafka.TopicID{}
			leads := map[string]bool{}
			exists := map[string]bool{}
			made, fenced := 0, false
			create := func(name string) {
				id := topicID(fmt.Sprint(name, "-", made))
				made++
				w.apply(&metadata.TopicRecord{ID: id, Name: name}, &metadata.PartitionRecord{TopicID: id, Partition: metadata.Partition{Replicas: on(self), ISR: on(self), Leader: self}})
				ids[name], leads[name], exists[name] = id, true, true
			}
			for i := range 6 {
				create(fmt.Sprint("t", i))
			}
			f := &fetcher{w: w, version: []int16{12, 13, 18}[seed%3], replica: kafka.NoNode, at: map[string]int64{}, ids: map[string]kafka.TopicID{}, view: map[string]kmsg.FetchResponseTopicPartition{}, moved: map[string]bool{}}
			for name, id := range ids {
				f.ids[name] = id
			}
			f.take(ask[*kmsg.FetchResponse](w, f.request(names(ids)...)))
			f.fetch()
			for step := range 80 {
				name := fmt.Sprint("t", rnd.IntN(6))
				switch id := ids[name]; rnd.IntN(7) {
				case 0, 1:
					if leads[name] && exists[name] && !fenced {
						w.write(name, "a", "b")
					}
				case 2:
					if exists[name] {
						leads[name] = !leads[name]
						leader := self
						if !leads[name] {
							leader = kafka.NoNode
						}
						w.apply(&metadata.PartitionChange{TopicID: id, Fields: metadata.SetLeader, Leader: leader})
					}
				case 3:
					if exists[name] {
						w.apply(&metadata.RemoveTopic{ID: id})
						exists[name] = false
					} else {
						create(name)
					}
				case 4:
					if p, code := w.manager.Get(kafka.TopicPartition{Topic: name}); code == kafka.None && leads[name] {
						p.DeleteRecords(partition.DeleteRecordsRequest{Before: kafka.NoOffset, Now: w.Elapsed(), Timeout: time.Second}, func(partition.DeleteRecordsResult) {})
					}
				case 5:
					w.manager.Fence()
					fenced = true
				case 6:
					w.manager.Unfence()
					fenced = false
				}
				if rnd.IntN(3) == 0 {
					continue // several things between two fetches
				}
				f.fetch()
				full := &fetcher{w: w, version: f.version, replica: kafka.NoNode, ids: f.ids, epoch: -1, at: f.at}
				resp := ask[*kmsg.FetchResponse](w, full.request(names(ids)...))
				for i, t0 := range resp.Topics {
					name, want := fmt.Sprint("t", i), t0.Partitions[0]
					got := f.view[name]
					if f.moved[name] && got.ErrorCode == int16(kafka.OffsetOutOfRange) {
						continue // it has not asked for the new position yet
					}
					if got.ErrorCode == 0 && want.ErrorCode == 0 && (got.HighWatermark != want.HighWatermark || got.LogStartOffset != want.LogStartOffset || len(want.RecordBatches) > 0) ||
						got.ErrorCode != want.ErrorCode && !(f.version >= 13 && want.ErrorCode == int16(kafka.UnknownTopicID)) { // a session says also that the name has another id
						t.Fatalf("seed %d, step %d, version %d: of %s the session told code %d, watermark %d, start %d; it is %d, %d, %d, with %d bytes", seed, step, f.version, name,
							got.ErrorCode, got.HighWatermark, got.LogStartOffset, want.ErrorCode, want.HighWatermark, want.LogStartOffset, len(want.RecordBatches))
					}
				}
			}
		})
	}
}

// session opens a session on topics and settles it: nothing is left to tell.
func (w *world) session(version int16, topics ...string) *fetcher {
	f := &fetcher{w: w, version: version, replica: kafka.NoNode, at: map[string]int64{}, ids: map[string]kafka.TopicID{}, view: map[string]kmsg.FetchResponseTopicPartition{}, moved: map[string]bool{}}
	for _, name := range topics {
		f.ids[name] = topicID(name)
	}
	f.take(ask[*kmsg.FetchResponse](w, f.request(topics...)))
	f.take(ask[*kmsg.FetchResponse](w, f.request()))
	return f
}

// watches are those of all sessions.
func (w *world) watches() (n int) {
	w.h.sessions.mu.Lock()
	defer w.h.sessions.mu.Unlock()
	w.h.sessions.cache.EachAttached(func(v any) { n += len(v.(*sessionWatch).parts) })
	return n
}

func TestALongPollOfASessionWakes(t *testing.T) {
	for _, c := range []struct {
		name string
		wake func(w *world)
		code kafka.ErrorCode
		data bool
	}{
		{"by a produce", func(w *world) { w.write("t0", "a") }, kafka.None, true},
		{"by a change of leadership", func(w *world) { w.elect("t0", kafka.NoNode) }, kafka.NotLeaderOrFollower, false},
		{"by a broker that fences itself", func(w *world) { w.manager.Fence() }, kafka.NotLeaderOrFollower, false},
		{"by a deletion", func(w *world) { w.apply(&metadata.RemoveTopic{ID: topicID("t0")}) }, kafka.UnknownTopicOrPartition, false},
		{"by a topic made anew", func(w *world) {
			w.apply(&metadata.RemoveTopic{ID: topicID("t0")})
			w.topic("t0", on(self))
		}, kafka.None, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.topic("t0", on(self))
				w.topic("t1", on(self))
				f := w.session(10, "t0", "t1")
				for round := range 3 { // the watches hold from one fetch to the next
					poll := w.send(waiting(f.request(), time.Second))
					w.pass(2 * time.Second)
					resp := poll.response().(*kmsg.FetchResponse)
					if len(resp.Topics) != 0 {
						t.Fatalf("round %d: %+v", round, resp)
					}
					f.take(resp)
				}
				poll := w.send(waiting(f.request(), time.Second))
				if !poll.pending() {
					t.Fatal("answered before")
				}
				c.wake(w)
				if c.code == kafka.None && !c.data {
					w.write("t0", "of the new topic")
					c.data = true
				}
				if poll.pending() {
					t.Fatal("not answered")
				}
				resp := poll.response().(*kmsg.FetchResponse)
				p := resp.Topics[0].Partitions[0]
				if p.ErrorCode != 0 && c.code == kafka.None { // between the two topics
					f.take(resp)
					p = ask[*kmsg.FetchResponse](w, f.request()).Topics[0].Partitions[0]
				}
				w.code(c.name, p.ErrorCode, c.code)
				if (len(p.RecordBatches) > 0) != c.data {
					t.Errorf("%d bytes of records", len(p.RecordBatches))
				}
			})
		})
	}
}

// Watches end with what they are for: the session, its connection, a partition that was forgotten.
func TestWatchesOfSessionsEnd(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t0", on(self))
		w.topic("t1", on(self))
		want := func(what string, n int) {
			t.Helper()
			if got := w.watches(); got != n {
				t.Errorf("%s: %d watches, want %d", what, got, n)
			}
		}
		w.session(12, "t0")
		want("a session", 1)
		f := w.session(12, "t0", "t1")
		want("two", 3)
		forget := f.request()
		forget.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: "t0", Partitions: []int32{0}}}
		f.take(ask[*kmsg.FetchResponse](w, forget))
		want("a partition less", 2)
		last := f.request("t1")
		last.SessionEpoch = -1
		ask[*kmsg.FetchResponse](w, last)
		want("one ended", 1)
		g := w.session(12, "t0", "t1")
		poll := w.send(waiting(g.request(), time.Minute))
		if !poll.pending() {
			t.Fatal("answered")
		}
		w.disconnect()
		w.pass(time.Second)
		want("a connection less", 1)
		w.connect()
		w.write("t0", "a")
		g.epoch++ // of the fetch that was abandoned
		if resp := ask[*kmsg.FetchResponse](w, g.request()); len(resp.Topics) != 1 {
			t.Errorf("the session goes on: %+v", resp)
		}
		want("it watches again", 3)
		w.pass(3 * time.Minute)
		w.session(12, "t1")
		want("of sessions that nobody used for long", 1)
	})
}

// A follower's session tells it a watermark that moved, and the leader that it lives.
func TestAFollowersSessionIsToldTheWatermark(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t0", on(self, other, third))
		f := &fetcher{w: w, version: 17, replica: other, at: map[string]int64{}, ids: map[string]kafka.TopicID{"t0": topicID("t0")}, view: map[string]kmsg.FetchResponseTopicPartition{}, moved: map[string]bool{}}
		f.take(ask[*kmsg.FetchResponse](w, f.request("t0")))
		f.fetch()
		w.write("t0", "a")
		f.fetch() // records
		f.at["t0"] = 1
		f.fetch() // says that it has them
		if got := f.view["t0"].HighWatermark; got != 0 {
			t.Fatalf("the watermark is %d", got)
		}
		g := fetchFrom(17, 1, "t0")
		g.ReplicaState.ID, g.ReplicaState.Epoch = int32(third), int64(third)
		ask[*kmsg.FetchResponse](w, g)
		f.fetch()
		if got := f.view["t0"].HighWatermark; got != 1 {
			t.Errorf("the watermark that it was told is %d, want 1", got)
		}
		w.apply(&metadata.PartitionChange{TopicID: topicID("t0"), Fields: metadata.SetReplicas | metadata.SetISR, Replicas: on(self, other), ISR: on(self, other)})
		// Idle for long: its fetches keep it in sync.
		p, _ := w.manager.Get(kafka.TopicPartition{Topic: "t0"})
		for range 80 {
			poll := w.send(waiting(f.request(), 500*time.Millisecond))
			w.pass(time.Second)
			f.take(poll.response().(*kmsg.FetchResponse))
		}
		if w.alters = 0; p.Describe().LogEnd != 1 {
			t.Fatal("not idle")
		}
		w.write("t0", "b") // it has the usual time to fetch this, and is not late at once
		w.pass(15 * time.Second)
		if w.alters != 0 {
			t.Error("an idle follower counts as late")
		}
	})
}

// What a fetch of an idle session looks at does not grow with the session.
func TestAnIdleSessionIsNotLookedAt(t *testing.T) {
	inWorld(t, func(w *world) {
		var topics []string
		for i := range 40 {
			topics = append(topics, fmt.Sprint("t", i))
			w.topic(topics[i], on(self))
		}
		f := w.session(12, topics...)
		w.write("t7", "a")
		f.fetch()
		f.fetch()
		looked := func() (n int) {
			w.h.sessions.cache.EachAttached(func(v any) { n += len(v.(*sessionWatch).marked) })
			return n
		}
		if n := looked(); n != 0 {
			t.Errorf("%d of 40 partitions would be looked at", n)
		}
		w.write("t9", "a")
		if n := looked(); n != 1 {
			t.Errorf("%d of 40 partitions would be looked at after one was written", n)
		}
		f.fetch()
		f.fetch()
		w.pass(maxSweep + time.Second)
		f.fetch()
		if n := looked(); n != 0 {
			t.Errorf("%d left after all had their turn", n)
		}
	})
}

// What had no room in an answer, or was not moved behind, comes with the next; and a partition that is named is looked at.
func TestASessionLeavesNothingBehind(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t0", on(self))
		w.topic("t1", on(self))
		f := w.session(12, "t0", "t1")
		w.write("t0", "a")
		w.write("t1", "b")
		small := func(topics ...string) *kmsg.FetchResponse {
			req := f.request(topics...)
			req.MaxBytes = 1 // one batch
			resp := ask[*kmsg.FetchResponse](w, req)
			f.epoch++
			return resp
		}
		records := map[string]int{}
		for range 4 { // nothing is moved behind: they take turns
			resp := small()
			for _, topic := range resp.Topics {
				if len(topic.Partitions[0].RecordBatches) > 0 {
					records[topic.Topic]++
				}
			}
		}
		if records["t0"] != 2 || records["t1"] != 2 {
			t.Errorf("records came %v times", records)
		}
		f.at["t0"], f.at["t1"] = 1, 1
		small("t0", "t1")
		if resp := small(); len(resp.Topics) != 0 {
			t.Fatalf("news: %+v", resp)
		}
		f.at["t0"] = 0 // the consumer seeks back
		if resp := small("t0"); len(resp.Topics) != 1 || len(resp.Topics[0].Partitions[0].RecordBatches) == 0 {
			t.Errorf("after a seek: %+v", resp)
		}
	})
}
