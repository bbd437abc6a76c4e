package server

import (
	"net/http"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// forLong has a drain end for another reason than its time.
var forLong = config.Values{"fairlead.shutdown.drain.ms": "3600000"}

// leaderOf is the machine that leads the one partition of a topic.
func leaderOf(t *testing.T, all []*machine, topic string) *machine {
	t.Helper()
	var leader *machine
	eventually(t, "the topic is led", func() bool {
		for _, m := range all {
			if m.scrape().led == 1 {
				leader = m
			}
		}
		return leader != nil
	})
	return leader
}

// stopping begins to stop a machine and tells what came of it.
func (m *machine) stopping() <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- m.end() }()
	return ended
}

// awaitEnd waits for the end of a stop.
func awaitEnd(t *testing.T, what string, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(20 * time.Second): // a test that hangs says where
		t.Fatalf("%s: not within 20 s", what)
	}
}

// awaitDrain waits until a broker drains: the controller let it go, and its partitions are told.
func (m *machine) awaitDrain() {
	m.t.Helper()
	eventually(m.t, "the broker drains", func() bool {
		b := m.images.Current().Broker(m.id)
		return b != nil && b.ControlledShutdown && !m.members.state.serves.Load()
	})
}

// TestAStoppingBrokerTellsClientsOfTheNewLeaders: it answers until they are gone, is not ready meanwhile, and what it closes then is clean.
func TestAStoppingBrokerTellsClientsOfTheNewLeaders(t *testing.T) {
	all := cluster(t, 3, forLong)
	all[0].create("t", 3)
	old := leaderOf(t, all, "t")
	c, waiting := old.dial(), old.dial()
	poll := fetchRequest("t", 0, 1<<20)
	poll.MaxWaitMillis, poll.MinBytes = 60_000, 1
	waiting.send(waiting.frame(poll))
	eventually(t, "the fetch has come", func() bool { return old.clientServer.Stats().Requests > 0 })

	ended := old.stopping()
	if resp := waiting.answer(poll, waiting.correlation).(*kmsg.FetchResponse); len(resp.Topics) != 1 {
		t.Errorf("the long poll: %+v", resp)
	}
	old.awaitDrain()
	if code, _ := c.produce("t", 1, plain(t, "a")); code != kafka.NotLeaderOrFollower {
		t.Errorf("a produce is answered by %s", code)
	}
	if p := waiting.ask(poll).(*kmsg.FetchResponse).Topics[0].Partitions[0]; kafka.ErrorCode(p.ErrorCode) != kafka.NotLeaderOrFollower {
		t.Errorf("a fetch that may wait is answered by %s", kafka.ErrorCode(p.ErrorCode))
	}
	md := kmsg.NewPtrMetadataRequest()
	md.Version = 12
	if p := c.ask(md).(*kmsg.MetadataResponse).Topics[0].Partitions[0]; p.Leader < 0 || kafka.NodeID(p.Leader) == old.id {
		t.Errorf("the new leader is told to be %d", p.Leader)
	}
	var r adminapi.Readiness
	if status, _ := get(t, old.Server, "/readyz", &r); status != http.StatusServiceUnavailable || r.Phase != adminapi.Stopping {
		t.Errorf("readiness: %d %+v", status, r)
	}
	select {
	case err := <-ended:
		t.Fatalf("it ended with clients connected: %v", err)
	default:
	}
	_ = c.Close()
	_ = waiting.Close()
	awaitEnd(t, "the stop without clients", ended)
	if cleanStop(t, old) == kafka.NoBrokerEpoch {
		t.Error("the stop was not clean")
	}
}

// TestAHurriedStopWaitsForNobody: clients stay connected and nobody is there to lead away to in time; the logs are closed cleanly.
func TestAHurriedStopWaitsForNobody(t *testing.T) {
	all := cluster(t, 3, forLong)
	all[0].dial()
	ended := all[0].stopping()
	all[0].awaitDrain()
	all[0].Hurry()
	awaitEnd(t, "the hurried stop", ended)
	all[1].dial()
	all[1].Hurry()
	awaitEnd(t, "the stop that was hurried before", all[1].stopping())
	for _, m := range all[:2] {
		if cleanStop(t, m) == kafka.NoBrokerEpoch {
			t.Errorf("the stop of broker %d was not clean", m.id)
		}
	}
}

// TestAClusterThatStopsDoesNotDrain: clients stay connected to all brokers, and there is no other that they could be told of.
func TestAClusterThatStopsDoesNotDrain(t *testing.T) {
	all := cluster(t, 3, forLong)
	all[0].create("t", 3)
	var ended []<-chan error
	for _, m := range all {
		m.dial()
	}
	for _, m := range all {
		ended = append(ended, m.stopping())
	}
	for _, e := range ended {
		awaitEnd(t, "the stop of all", e)
	}
}

// TestADrainHasItsTime: clients that stay hold up no stop, and with 0 nobody is waited for.
func TestADrainHasItsTime(t *testing.T) {
	for _, limit := range []string{"0", "50"} {
		all := cluster(t, 2, config.Values{"fairlead.shutdown.drain.ms": limit})
		all[0].dial()
		awaitEnd(t, "the stop with a drain of "+limit+" ms", all[0].stopping())
	}
}
