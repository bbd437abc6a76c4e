package server

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/go-logr/logr"

	"github.com/fairlead-io/fairlead/broker/adminapi"
)

// Alive and not ready before there is a broker, at the same address as the broker that takes the endpoint over, and gone with it.
func TestTheEndpointAnswersBeforeThereIsABroker(t *testing.T) {
	reason := "waiting for the rack"
	e, err := OpenEndpoint("127.0.0.1:0", func() adminapi.Readiness { return Starting(7, "v1", reason) }, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ask := func(path string, v any) int {
		t.Helper()
		resp, err := http.Get("http://" + e.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		if v != nil {
			if err := json.Unmarshal(body, v); err != nil {
				t.Fatalf("%s: %v in %q", path, err, body)
			}
		}
		return resp.StatusCode
	}
	var h adminapi.Health
	if status := ask("/healthz", &h); status != http.StatusOK || !h.Healthy {
		t.Errorf("health %d %+v", status, h)
	}
	for _, path := range []string{"/readyz", "/metrics", "/safe-to-stop?ids=0", "/load"} {
		var r adminapi.Readiness
		if status := ask(path, &r); status != http.StatusServiceUnavailable || r.Phase != adminapi.Starting || r.Reason != reason || r.NodeID != 7 || r.QuorumLeaderID != -1 {
			t.Errorf("%s: %d %+v", path, status, r)
		}
	}

	m := machines(t, 1, nil)[0]
	m.format()
	s, err := New(Options{Static: m.settings, Broker: m.broker(), Log: logr.Discard(), Endpoint: e, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	var r adminapi.Readiness
	if ask("/readyz", &r); r.Phase != adminapi.Recovering {
		t.Errorf("with a broker that does not run yet: %+v", r)
	}
	end := runBroker(t, s)
	eventually(t, "it serves", func() bool { return ask("/readyz", &r) == http.StatusOK })
	if r.Version != "v1" || r.DirectoryID != m.founding.Directory.String() || !r.IsQuorumLeader || !r.IsQuorumVoter || r.QuorumLeaderID != 0 ||
		r.BrokerEpoch < 0 || !r.CaughtUp || r.FreeBytes <= 0 || r.DiskBytes < r.FreeBytes {
		t.Errorf("%+v", r)
	}
	createTopic(t, s, "t", 1)
	eventually(t, "it leads the topic", func() bool {
		ask("/readyz", &r)
		return r.LedPartitions == 1 && r.Replicas == 1 && r.OutOfSync == 0 && r.CaughtUp
	})
	if err := end(); err != nil {
		t.Error(err)
	}
	if resp, err := http.Get("http://" + e.Addr().String() + "/healthz"); err == nil {
		resp.Body.Close()
		t.Error("the endpoint outlives the broker")
	}
}

// A replica outside the in-sync set is counted on the broker that has it.
func TestReadinessCountsReplicasOutOfSync(t *testing.T) {
	servers, ends := runBrokers(t, 3)
	createTopic(t, servers[0], "t", 3)
	eventually(t, "all have the topic", func() bool {
		for _, s := range servers {
			if r := s.readiness(); r.Replicas != 1 || !r.CaughtUp {
				return false
			}
		}
		return true
	})
	if err := ends[2](); err != nil {
		t.Error(err)
	}
	eventually(t, "the broker that stopped left the in-sync set", func() bool {
		p := servers[0].images.Current().TopicByName("t").Partition(0)
		return len(p.ISR) == 2
	})
	var k replicaCounts
	if c := k.of(servers[0].images.Current(), 2); c.all != 1 || c.outOfSync != 1 || c.led != 0 {
		t.Errorf("%+v", c)
	}
	for _, end := range ends[:2] {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
}
