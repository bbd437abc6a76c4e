package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// startBrokers runs a cluster of real brokers on files in memory in this process until the test ends, and returns when all serve.
func startBrokers(t *testing.T, n int) []*Server {
	t.Helper()
	servers, ends := runBrokers(t, n)
	t.Cleanup(func() {
		for id, end := range ends {
			if err := end(); err != nil {
				t.Errorf("broker %d: %v", id, err)
			}
		}
	})
	return servers
}

// runBrokers does it, and leaves it to the caller to end each and look at its error. The disks are the servers' fs.
func runBrokers(t *testing.T, n int) (servers []*Server, ends []func() error) {
	t.Helper()
	var addresses, voters []string
	var founders []quorum.Voter
	for id := range n {
		addresses = append(addresses, freeAddress(t))
		voters = append(voters, fmt.Sprintf("%d@%s", id, addresses[id]))
		founders = append(founders, quorum.Voter{Node: kafka.NodeID(id), Directory: NewDirectoryID()})
	}
	for id := range n {
		disk := vfs.NewMem(uint64(id))
		settings := config.Values{
			"node.id": fmt.Sprint(id), "log.dirs": "data", "controller.listener.names": "CONTROLLER",
			"listeners":                "PLAINTEXT://127.0.0.1:0,CONTROLLER://" + addresses[id],
			"controller.quorum.voters": strings.Join(voters, ","),
		}
		b, _, err := config.ParseBroker(settings)
		if err != nil {
			t.Fatal(err)
		}
		if err := Format(disk, b, FormatOptions{ClusterID: "c", Directory: founders[id].Directory, Voters: founders}); err != nil {
			t.Fatal(err)
		}
		s, err := New(Options{Static: settings, Broker: b, Log: logr.Discard(), FS: disk})
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, s)
	}
	for _, s := range servers {
		ends = append(ends, runBroker(t, s))
	}
	for _, s := range servers {
		eventually(t, fmt.Sprintf("broker %d serves", s.node), func() bool { return s.readiness().Ready })
	}
	return servers, ends
}

// runBroker runs one broker; end stops it, unless it has ended by itself, and gives its error.
func runBroker(t *testing.T, s *Server) (end func() error) {
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return func() error {
		stop()
		return <-ended
	}
}

// again runs a broker that has ended on the same disk.
func again(t *testing.T, s *Server) (*Server, func() error) {
	t.Helper()
	n, err := New(Options{Static: s.settings.static, Broker: *s.settings.broker(), Log: logr.Discard(), FS: s.fs})
	if err != nil {
		t.Fatal(err)
	}
	return n, runBroker(t, n)
}

// eventually waits for what other goroutines do.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 4000 {
		if ok() {
			return
		}
		<-tick.C
	}
	t.Fatalf("not within 20 s: %s", what)
}

// get asks the admin endpoint and decodes the answer into v, unless v is nil.
func get(t *testing.T, s *Server, path string, v any) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.admin.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if v != nil {
		if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
			t.Fatalf("%s: %v in %q", path, err, w.Body)
		}
	}
	return w.Code, w.Body.String()
}

// createTopic creates a topic of one partition.
func createTopic(t *testing.T, s *Server, name string, replicas int16) {
	t.Helper()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, replicas
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(req.MaxVersion())
	req.Topics = append(req.Topics, topic)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	resp, err := s.controller.Do(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if c := resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode; c != 0 {
		t.Fatalf("create %s: %s", name, kafka.ErrorCode(c))
	}
}
