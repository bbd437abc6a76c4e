package metactl

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/leaderepoch"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commands is every request that the controller decides, empty.
func commands() []kmsg.Request {
	return []kmsg.Request{
		kmsg.NewPtrBrokerRegistrationRequest(), kmsg.NewPtrBrokerHeartbeatRequest(), kmsg.NewPtrUnregisterBrokerRequest(),
		kmsg.NewPtrAlterPartitionRequest(), kmsg.NewPtrAllocateProducerIDsRequest(), kmsg.NewPtrCreateTopicsRequest(),
		kmsg.NewPtrDeleteTopicsRequest(), kmsg.NewPtrCreatePartitionsRequest(), kmsg.NewPtrIncrementalAlterConfigsRequest(),
		kmsg.NewPtrAlterConfigsRequest(), kmsg.NewPtrElectLeadersRequest(), &LogEndsRequest{},
	}
}

func TestCommands(t *testing.T) {
	w := newWorld(t, Options{})
	for _, req := range commands() {
		if !Decides(req.Key()) {
			t.Errorf("Decides(%d) = false for %T", req.Key(), req)
		}
		for _, lead := range []bool{true, false} {
			if lead {
				w.c.BecomeLeader(w.now)
			} else {
				w.c.LoseLeadership()
			}
			records, resp := w.c.Decide(req, w.now, 0, w.rnd)
			if resp == nil || resp.Key() != req.Key() || resp.GetVersion() != req.GetVersion() {
				t.Errorf("%T: reply %T", req, resp)
			}
			if !lead && records != nil {
				t.Errorf("%T: records without leadership", req)
			}
		}
	}
	if Decides(3) {
		t.Error("Decides(3) = true")
	}
}

// A broker that does not lead refuses every entry of a request with 41.
func TestNotController(t *testing.T) {
	c := New(Options{}, nil)
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Topics = append(create.Topics, newTopic("a", 1, 1), newTopic("b", 1, 1))
	_, resp := c.Decide(create, 0, 0, nil)
	for _, rt := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if rt.ErrorCode != 41 || rt.ErrorMessage == nil {
			t.Errorf("%+v, want code 41 and a message", rt)
		}
	}
	hb := kmsg.NewPtrBrokerHeartbeatRequest()
	if _, resp := c.Decide(hb, 0, 0, nil); resp.(*kmsg.BrokerHeartbeatResponse).ErrorCode != 41 {
		t.Errorf("%+v, want code 41", resp)
	}
	if c.Tick(0) != nil || c.Suspect(1, -1, 0) != nil {
		t.Error("a controller that does not lead proposes")
	}
}

// TestPipelining decides the same commands with and without waiting for the commit of those before: the speculative image
// must make no difference.
func TestPipelining(t *testing.T) {
	for seed := range uint64(100) {
		images := [2][]byte{}
		for i, depth := range []int{1, 7} {
			w := newWorld(t, Options{})
			w.start(3)
			w.create(newTopic("t", 4, 3, "min.insync.replicas=2"))
			rnd := rand.New(rand.NewPCG(seed, 9))
			var open [][]metadata.Record
			for range 60 {
				var records []metadata.Record
				switch rnd.IntN(4) {
				case 0:
					records = w.c.Suspect(kafka.NodeID(rnd.IntN(3)), -1, w.now)
				case 1:
					req := kmsg.NewPtrBrokerHeartbeatRequest()
					req.BrokerID = int32(rnd.IntN(3))
					req.BrokerEpoch, req.CurrentMetadataOffset = int64(req.BrokerID), 1000
					records, _ = w.c.Decide(req, w.now, 0, w.rnd)
				case 2:
					req := kmsg.NewPtrCreateTopicsRequest()
					req.Topics = append(req.Topics, newTopic(fmt.Sprint("t", rnd.IntN(9)), 2, 2))
					records, _ = w.c.Decide(req, w.now, 0, w.rnd)
				case 3:
					req := kmsg.NewPtrDeleteTopicsRequest()
					req.TopicNames = []string{fmt.Sprint("t", rnd.IntN(9))}
					records, _ = w.c.Decide(req, w.now, 0, w.rnd)
				}
				if len(records) > 0 {
					open = append(open, records)
				}
				for len(open) >= depth {
					w.commit(open[0])
					open = open[1:]
				}
			}
			for _, records := range open {
				w.commit(records)
			}
			w.checkReplay()
			images[i] = metadata.EncodeRecords(nil, w.image().Records())
		}
		if !bytes.Equal(images[0], images[1]) {
			t.Fatalf("seed %d: pipelined commands gave another image", seed)
		}
	}
}

// What was proposed and never committed leaves no trace in the next leadership.
func TestLostLeadershipDropsSpeculation(t *testing.T) {
	w := newWorld(t, Options{})
	w.start(1)
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, newTopic("a", 1, 1))
	if records, _ := w.c.Decide(req, w.now, 0, w.rnd); len(records) == 0 {
		t.Fatal("no records")
	}
	if _, resp := w.c.Decide(req, w.now, 0, w.rnd); resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode != 36 {
		t.Error("the second creation does not see the first, which is proposed")
	}
	w.c.LoseLeadership()
	w.c.BecomeLeader(w.now)
	if _, resp := w.c.Decide(req, w.now, 0, w.rnd); resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode != 0 {
		t.Error("the creation that was lost is still seen")
	}
}

// A new quorum leader gives every broker a whole session, and lets a process with proof take its place at once.
func TestNewLeaderKnowsNobody(t *testing.T) {
	w := newWorld(t, Options{})
	w.start(2)
	w.now = w.now.Add(time.Hour)
	w.c.LoseLeadership()
	w.c.BecomeLeader(w.now)
	w.wait(8 * time.Second)
	if !w.image().Eligible(0) {
		t.Error("a broker was fenced before its session ended at the new leader")
	}
	w.wait(time.Second)
	if w.image().Eligible(0) {
		t.Error("a silent broker was not fenced by the new leader")
	}

	w = newWorld(t, Options{})
	w.start(2)
	w.c.LoseLeadership()
	w.c.BecomeLeader(w.now)
	f := func(node int32, directory string, after time.Duration, want kafka.ErrorCode) {
		t.Helper()
		w.now = w.now.Add(after)
		resp := decide[*kmsg.BrokerRegistrationResponse](w, registration(node, directory, fmt.Sprint("new-", after), -1))
		if resp.ErrorCode != int16(want) {
			t.Errorf("registration of broker %d with %s after %v: code %d, want %d", node, directory, after, resp.ErrorCode, want)
		}
	}
	f(0, "dir-0", 0, kafka.None)
	f(1, "empty", time.Second, kafka.DuplicateBrokerRegistration)
	f(1, "empty", 2*time.Second, kafka.None)
}

// A stopping broker is let go by the next quorum leader too, when its image is as new as that leader's first one.
func TestStopAcrossLeaders(t *testing.T) {
	w := newWorld(t, Options{})
	w.start(2)
	w.create(newTopic("t", 2, 2))
	w.heartbeat(0, false, true)
	w.c.LoseLeadership()
	w.c.BecomeLeader(w.now)
	w.create(newTopic("u", 1, 1))
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.BrokerEpoch, req.WantShutdown, req.CurrentMetadataOffset = 0, true, int64(w.index)-2
	if decide[*kmsg.BrokerHeartbeatResponse](w, req).ShouldShutdown {
		t.Error("a broker that cannot know that it leads nothing was let go")
	}
	req.CurrentMetadataOffset++ // not the last entry: the one that the leader began with
	if !decide[*kmsg.BrokerHeartbeatResponse](w, req).ShouldShutdown {
		t.Error("the broker was not let go")
	}
}

// A controller that was stopped for a minute has heard nobody, and fences nobody for it.
func TestPauseOfTheController(t *testing.T) {
	w := newWorld(t, Options{})
	w.start(1)
	w.wait(8 * time.Second)
	w.tick(time.Minute)
	if !w.image().Eligible(0) {
		t.Error("a broker was fenced for a pause of the controller")
	}
	w.wait(time.Second)
	if w.image().Eligible(0) {
		t.Error("after the pause the broker's silence no longer counts")
	}
}

func TestRegistrationRefused(t *testing.T) {
	w := newWorld(t, Options{})
	w.commit([]metadata.Record{&metadata.FeatureRecord{Name: "metadata.version", Level: 4}})
	f := func(change func(*kmsg.BrokerRegistrationRequest), want kafka.ErrorCode) {
		t.Helper()
		req := registration(0, "d", "r", -1)
		level := kmsg.NewBrokerRegistrationRequestFeature()
		level.Name, level.MaxSupportedVersion = "metadata.version", 5
		req.Features = append(req.Features, level)
		change(req)
		if resp := decide[*kmsg.BrokerRegistrationResponse](w, req); resp.ErrorCode != int16(want) {
			t.Errorf("code %d, want %d", resp.ErrorCode, want)
		}
	}
	f(func(r *kmsg.BrokerRegistrationRequest) { r.ClusterID = "" }, kafka.InconsistentClusterID)
	f(func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs = nil }, kafka.InvalidRequest)
	f(func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs[0] = [16]byte{} }, kafka.InvalidRequest)
	f(func(r *kmsg.BrokerRegistrationRequest) { r.IncarnationID = [16]byte{} }, kafka.InvalidRequest)
	f(func(r *kmsg.BrokerRegistrationRequest) { r.BrokerID = -1 }, kafka.InvalidRequest)
	f(func(r *kmsg.BrokerRegistrationRequest) { r.Features = nil }, kafka.UnsupportedVersion)
	f(func(r *kmsg.BrokerRegistrationRequest) { r.Features[0].MaxSupportedVersion = 3 }, kafka.UnsupportedVersion)
	f(func(r *kmsg.BrokerRegistrationRequest) {}, kafka.None)
}

// TestMovesArePaced returns 300 leaderships to a broker: in batches, not at once, and all of them in the end.
func TestMovesArePaced(t *testing.T) {
	w := newWorld(t, Options{})
	w.start(2)
	var assignment [][]int32
	for range 300 {
		assignment = append(assignment, []int32{0, 1})
	}
	w.create(placedTopic("t", assignment))
	w.commit(w.c.Suspect(0, -1, w.now))
	w.heartbeat(0, false, false)
	topic := w.image().TopicByName("t")
	var grow []metadata.Record
	for n := range topic.Partitions() {
		grow = append(grow, &metadata.PartitionChange{TopicID: topic.ID, Number: n, Fields: metadata.SetISR, ISR: []kafka.NodeID{0, 1}})
	}
	w.commit(grow)
	w.c.BecomeLeader(w.now) // forgets that this entry was none of its own
	moved, steps := 0, 0
	for ; moved < 300 && steps < 300; steps++ {
		w.heartbeat(0, false, false)
		w.heartbeat(1, false, false)
		w.tick(50 * time.Millisecond)
		n := len(w.delta.Partitions)
		if n > maxMovesPerTick {
			t.Fatalf("%d leaderships moved at once, want at most %d", n, maxMovesPerTick)
		}
		if n > 0 && w.now.Sub(w.c.soft.since) < DefaultSettleTime {
			t.Fatalf("leaderships moved %v after the broker came back, want at least %v", w.now.Sub(w.c.soft.since), DefaultSettleTime)
		}
		moved += n
	}
	if moved != 300 {
		t.Errorf("%d of 300 leaderships moved back in %d ticks", moved, steps)
	}
	if took := time.Duration(steps) * 50 * time.Millisecond; took > DefaultSettleTime+2*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Walks of Tick are bounded and still reach everything.
func TestBoundedWalk(t *testing.T) {
	var s partitionSet
	const n = 25
	for i := range int32(n) {
		s.insert(kafka.TopicIDPartition{TopicID: kafka.TopicID{byte(i % 3)}, Partition: i})
	}
	for _, limit := range []int{1, 4, 5, 24, 25, 26} {
		seen, cursor := map[kafka.TopicIDPartition]int{}, ""
		for range (n + limit - 1) / limit {
			visited := 0
			cursor = s.walk(cursor, limit, func(tp kafka.TopicIDPartition) bool { seen[tp]++; visited++; return true })
			if visited > limit {
				t.Errorf("limit %d: %d visited", limit, visited)
			}
		}
		if len(seen) != n {
			t.Errorf("limit %d: %d of %d seen in one round", limit, len(seen), n)
		}
	}
}

func TestLogEndsEncoding(t *testing.T) {
	req := &LogEndsRequest{BrokerID: 3, BrokerEpoch: 9, Ends: []LogEnd{
		{kafka.TopicIDPartition{TopicID: kafka.TopicID{1, 2}, Partition: 4}, 5, 7, []leaderepoch.Entry{{Epoch: 3, Start: 0}, {Epoch: 4, Start: 6}}},
		{kafka.TopicIDPartition{TopicID: kafka.TopicID{8}, Partition: 1}, 0, 0, nil},
	}}
	b := req.AppendTo(nil)
	var got LogEndsRequest
	if err := got.ReadFrom(b); err != nil || fmt.Sprint(got) != fmt.Sprint(*req) {
		t.Errorf("read %+v, error %v, want %+v", got, err, *req)
	}
	for n := range b {
		if err := new(LogEndsRequest).ReadFrom(b[:n]); err == nil {
			t.Errorf("cut at %d of %d bytes: no error", n, len(b))
		}
	}
	resp := &LogEndsResponse{ErrorCode: 77}
	var back LogEndsResponse
	if err := back.ReadFrom(resp.AppendTo(nil)); err != nil || back != *resp {
		t.Errorf("read %+v, error %v", back, err)
	}
}

func TestGenesis(t *testing.T) {
	records, err := metadata.DecodeRecords(Genesis("c", metadata.Setting{Name: "min.insync.replicas", Value: "2"}))
	if err != nil {
		t.Fatal(err)
	}
	image := metadata.FromRecords(1, records)
	if image.ClusterID() != "c" || image.MinISR("t", 3) != 2 {
		t.Errorf("cluster %q with %d in-sync replicas, want c and 2", image.ClusterID(), image.MinISR("t", 3))
	}
}
