package manifest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/peer"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/server"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// startBroker runs one broker on a disk in memory until the test ends and gives its address for clients.
func startBroker(t *testing.T) string {
	t.Helper()
	client, internal := freeAddress(t), freeAddress(t)
	settings := config.Values{
		"node.id": "0", "log.dirs": "data", "listeners": "PLAINTEXT://" + client + ",CONTROLLER://" + internal,
		"controller.listener.names": "CONTROLLER", "controller.quorum.voters": "0@" + internal, "num.partitions": "2",
	}
	b, _, err := config.ParseBroker(settings)
	if err != nil {
		t.Fatal(err)
	}
	disk, id := vfs.NewMem(1), server.NewDirectoryID()
	if err := server.Format(disk, b, server.FormatOptions{ClusterID: "c", Directory: id, Voters: []quorum.Voter{{Node: 0, Directory: id}}}); err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{Static: settings, Broker: b, Log: logr.Discard(), FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return client
}

func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no free port")
	return ""
}

// What is wanted is there afterwards, a second time there is nothing to do, and one topic that cannot be does not keep the others.
func TestApply(t *testing.T) {
	address := startBroker(t)
	apply := func(text string) string {
		t.Helper()
		topics, _, err := Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = Apply(t.Context(), []string{address}, topics, &out)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
		return out.String()
	}
	f := func(text, want string) {
		t.Helper()
		if got := apply(text); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	const one = head + "spec:\n  topicName: one\n"
	const two = "\n---\n" + head + "spec:\n  topicName: two\n"
	f(one+"  partitions: 3\n  config: {retention.ms: \"1000\", cleanup.policy: \"compact, delete\"}"+two,
		"topic one: created\ntopic two: created\n")
	f(one+"  partitions: 3\n  config: {retention.ms: \"1000\", cleanup.policy: \"compact, delete\"}"+two,
		"topic one: as it should be\ntopic two: as it should be\n")
	f(one+"  partitions: 5\n  config: {retention.ms: \"2000\"}", "topic one: grown to 5 partitions, retention.ms=2000, cleanup.policy back to its default\n")
	f(one+"  partitions: 4"+two+"  partitions: 2", "topic two: as it should be\n"+
		"f: document 1, line 6: spec.partitions: topic one has 5: partitions cannot be taken away, 4 is impossible\n")
	got := apply(head + "spec: {replicationFactor: 2}")
	if !strings.HasPrefix(got, "f: document 1, line 1: create topic t: INVALID_REPLICATION_FACTOR: ") || strings.Count(got, "\n") != 1 {
		t.Errorf("more replicas than brokers: %s", got)
	}
	c := peer.New(peer.Options{Dial: peer.DialTCP(address), ClientID: "test"})
	defer c.Close()
	found, err := find(t.Context(), c, "one")
	if err != nil || found.Partitions != 5 || found.Replicas != 1 || len(found.Config) != 1 || found.Config["retention.ms"] != "2000" {
		t.Errorf("%+v, %v", found, err)
	}
	if found, err := find(t.Context(), c, "three"); found != nil || err != nil {
		t.Errorf("a topic that nobody made: %+v, %v", found, err)
	}
}

func TestAnErrorNamesTheCode(t *testing.T) {
	if err := answered(int16(kafka.InvalidConfig), nil); err == nil || err.Error() != "INVALID_CONFIG" {
		t.Errorf("%v", err)
	}
}
