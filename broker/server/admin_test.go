package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/partition"
)

func TestABrokerThatServesIsHealthyAndReady(t *testing.T) {
	s := startBrokers(t, 1)[0]
	var h adminapi.Health
	if status, _ := get(t, s, "/healthz", &h); status != http.StatusOK || !h.Healthy {
		t.Errorf("health: %d %+v", status, h)
	}
	var r adminapi.Readiness
	if status, _ := get(t, s, "/readyz", &r); status != http.StatusOK || r.Phase != adminapi.Serving || r.ClusterID != "c" || r.Since == 0 {
		t.Errorf("readiness: %d %+v", status, r)
	}
	_, metrics := get(t, s, "/metrics", nil)
	for _, want := range []string{"fairlead_broker_serving 1", "fairlead_quorum_leader 1", "go_goroutines", "process_resident_memory_bytes"} {
		if !strings.Contains(metrics, want+"\n") && !strings.Contains(metrics, "\n"+want+" ") {
			t.Errorf("no %s in the metrics", want)
		}
	}
}

// TestOnlyAStuckLoopIsUnhealthy: neither recovery, nor waiting for a quorum, nor a quiet cluster is a reason to be killed.
func TestOnlyAStuckLoopIsUnhealthy(t *testing.T) {
	s := startBrokers(t, 1)[0]
	now := s.clock.Elapsed()
	if r := s.stuck(now.Add(quorumStill / 2)); r != "" {
		t.Errorf("after half the limit: %s", r)
	}
	if r := s.stuck(now.Add(quorumStill + time.Second)); !strings.Contains(r, "metadata quorum") {
		t.Errorf("beyond the limit of the quorum's loop: %q", r)
	}
	var p pulse
	if d := p.still(now.Add(time.Hour)); d != 0 {
		t.Errorf("a loop that did not begin is still for %v", d)
	}
	p.beat(now)
	if d := p.still(now.Add(time.Hour)); d != time.Hour {
		t.Errorf("still for %v, want an hour", d)
	}
}

func TestEveryBrokerGivesTheSameVerdict(t *testing.T) {
	servers := startBrokers(t, 3)
	createTopic(t, servers[0], "three", 3)
	createTopic(t, servers[0], "alone", 1)
	alone := servers[0].images.Current().TopicByName("alone").Partition(0).Leader
	other := (alone + 1) % 3
	// A new leader of the quorum has heard of nobody yet, and what is not known is not safe.
	eventually(t, "the quorum's leader reaches all voters", func() bool {
		_, reachable, err := servers[0].voters(t.Context())
		return err == nil && len(reachable) == 3
	})
	for _, s := range servers {
		var v adminapi.Verdict
		if status, _ := get(t, s, "/safe-to-stop?ids="+ids(alone), &v); status != http.StatusOK || !v.Safe || v.UnavoidableTotal != 1 ||
			v.Unavoidable[0].Topic != "alone" || !slices.Equal(v.Brokers, []int32{int32(alone)}) {
			t.Errorf("broker %d on %d: %+v", s.node, alone, v)
		}
		v = adminapi.Verdict{}
		get(t, s, "/safe-to-stop?ids="+ids(other, alone), &v)
		if v.Safe || v.Total != 1 || v.Blocks[0].Effect != adminapi.LosesQuorum || v.ImageVersion == 0 {
			t.Errorf("broker %d on two of three: %+v", s.node, v)
		}
		v = adminapi.Verdict{}
		get(t, s, "/safe-to-stop?ids=0,1,2", &v)
		if v.Safe || v.Total != 2 || v.Blocks[1].Topic != "three" || v.Blocks[1].Effect != adminapi.LosesAvailability {
			t.Errorf("broker %d on all: %+v", s.node, v)
		}
	}
	for _, bad := range []string{"", "?ids=", "?ids=x", "?ids=1,", "?ids=-1", "?ids=" + strings.Repeat("1,", maxAskedBrokers) + "1"} {
		if status, _ := get(t, servers[0], "/safe-to-stop"+bad, nil); status != http.StatusBadRequest {
			t.Errorf("%.20q: status %d", bad, status)
		}
	}
}

func ids(nodes ...kafka.NodeID) string {
	var out []string
	for _, n := range nodes {
		out = append(out, string(rune('0'+n)))
	}
	return strings.Join(out, ",")
}

// TestNoQuorumIsNoLeaveToStop: what is not known is not safe.
func TestNoQuorumIsNoLeaveToStop(t *testing.T) {
	s := startBrokers(t, 1)[0]
	ctx, cancel := context.WithCancel(t.Context())
	cancel()                   // as if nobody answered in time
	elsewhere := *s.controller // the broker goes on with its own
	elsewhere.self, elsewhere.peers = 9, &peers{closed: true}
	if v := (&Server{images: s.images, controller: &elsewhere}).safeToStop(ctx, []kafka.NodeID{5}); v.Safe || v.Total != 1 || v.Blocks[0].Effect != adminapi.LosesQuorum {
		t.Errorf("%+v", v)
	}
}

func TestVerdictsNameTheWorstFirst(t *testing.T) {
	tp := func(topic string) kafka.TopicPartition { return kafka.TopicPartition{Topic: topic} }
	v := verdictOf(metactl.StopVerdict{
		Blocked: []metactl.StopConcern{
			{TopicPartition: tp("a"), Loses: metactl.LosesAcks, CatchingUp: []kafka.NodeID{2, 3}},
			{TopicPartition: tp("b"), Loses: metactl.LosesLeader},
		},
		BlockedCount: 7, QuorumLost: true, Unavoidable: []metactl.StopConcern{{TopicPartition: tp("c"), Loses: metactl.LosesLeader}}, UnavoidableCount: 1,
	}, 3)
	v.Brokers = []int32{1}
	want := "not safe to stop 1: 8 in the way, first metadata quorum loses-quorum"
	if !strings.HasPrefix(v.String(), want) || v.Blocks[1].Topic != "b" || v.Blocks[2].Clears != "catching up of broker 2 or 3" || v.Unavoidable[0].Topic != "c" {
		t.Errorf("%s\n%+v", v, v)
	}
}

// TestASoleVoterMayStop: it will be missed, and that cannot be helped. Else a cluster of one broker could never be rolled.
func TestASoleVoterMayStop(t *testing.T) {
	s := startBrokers(t, 1)[0]
	var v adminapi.Verdict
	get(t, s, "/safe-to-stop?ids=0", &v)
	if !v.Safe || v.Total != 0 || v.UnavoidableTotal != 1 || v.Unavoidable[0].Effect != adminapi.LosesQuorum {
		t.Errorf("%+v", v)
	}
}

func TestLoadHasSizesAndRates(t *testing.T) {
	s := startBrokers(t, 1)[0]
	createTopic(t, s, "t", 1)
	tp := kafka.TopicPartition{Topic: "t"}
	var p *partition.Partition
	eventually(t, "the partition is led here", func() bool {
		p, _ = s.partitions.Get(tp)
		return p != nil && p.Describe().Leader.ID == s.node
	})
	if r := produce(t, s, p); r.Code != kafka.None {
		t.Fatal(r.Code)
	}
	p.Served(500)
	var l adminapi.Load
	if status, _ := get(t, s, "/load", &l); status != http.StatusOK || len(l.Partitions) != 1 || l.FreeBytes <= 0 || l.At == 0 {
		t.Fatalf("%d %+v", status, l)
	}
	if q := l.Partitions[0]; q.Topic != "t" || !q.Leader || q.SizeBytes < 1000 || q.InRate <= 0 || q.OutRate <= 0 || q.OutRate >= q.InRate {
		t.Errorf("%+v", q)
	}
}

// TestRatesAreSinceTheSampleBeforeTheLast, over one to two minutes.
func TestRatesAreSinceTheSampleBeforeTheLast(t *testing.T) {
	id := kafka.TopicIDPartition{Partition: 3}
	sample := func(at time.Duration, in int64) loadSample {
		return loadSample{kafka.Elapsed(at), map[kafka.TopicIDPartition]traffic{id: {in: in}}}
	}
	var l loads
	f := func(now time.Duration, total int64, want float64) {
		t.Helper()
		if in, _ := l.since().rate(id, traffic{in: total}, kafka.Elapsed(now)); in != want {
			t.Errorf("at %v: %v bytes/s, want %v", now, in, want)
		}
	}
	f(0, 0, 0)
	f(10*time.Second, 1000, 100) // since the beginning
	l.add(sample(time.Minute, 6000))
	f(100*time.Second, 10000, 100)
	l.add(sample(2*time.Minute, 6000))
	f(2*time.Minute, 6000, 0)
	f(160*time.Second, 7000, 10)
}
