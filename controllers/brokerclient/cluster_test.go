package brokerclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/test/control"
)

// command runs brokers of this checkout. It is built by the first test that needs one.
var command = sync.OnceValues(func() (string, error) { return control.Build("../..", programDir) })

var programDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "fairlead-program-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// cluster starts brokers for one test.
func cluster(t *testing.T, brokers int, settings map[string]string) (*control.Cluster, *Client) {
	t.Helper()
	cmd, err := command()
	if err != nil {
		t.Fatal(err)
	}
	cl, err := control.Up(cmd, "", control.Options{Brokers: brokers, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cl.Down(); err != nil {
			t.Error(err)
		}
	})
	c, err := New(cl.Bootstrap...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return cl, c
}

// await looks until it is so.
func await(t *testing.T, look func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := control.Await(ctx, look); err != nil {
		t.Fatal(err)
	}
}

// check fails the test unless each error is nil, or where want says so a refusal with this code.
func check(t *testing.T, what string, got []error, err error, want ...kafka.ErrorCode) {
	t.Helper()
	if err != nil || len(got) != len(want) {
		t.Fatalf("%s: %v %v", what, got, err)
	}
	for i, code := range want {
		var r *Refusal
		if code == 0 && got[i] != nil || code != 0 && (!errors.As(got[i], &r) || r.Code != code) {
			t.Errorf("%s: answer %d is %v, want code %v", what, i, got[i], code)
		}
	}
}

func TestTopicsLiveAndDie(t *testing.T) {
	_, c := cluster(t, 3, map[string]string{"num.partitions": "2"})
	ctx := t.Context()
	errs, err := c.CreateTopics(ctx, []NewTopic{
		{Name: "a", Partitions: 3, Replicas: 1, Settings: map[string]string{"retention.ms": "1000", "cleanup.policy": "compact"}},
		{Name: "b", Partitions: -1, Replicas: -1},
		{Name: "bad", Partitions: 1, Replicas: 1, Settings: map[string]string{"min.insync.replicas": "x"}},
		{Name: "wide", Partitions: 1, Replicas: 4},
		{Name: "bad name", Partitions: 1, Replicas: 1},
	})
	check(t, "create", errs, err, 0, 0, kafka.InvalidConfig, kafka.InvalidReplicationFactor, kafka.InvalidTopicException)
	if !strings.Contains(errs[2].Error(), "Invalid value x for configuration min.insync.replicas") {
		t.Errorf("Kafka's own words are missing in %v", errs[2])
	}
	errs, err = c.CreateTopics(ctx, []NewTopic{{Name: "a", Partitions: 1, Replicas: 1}})
	check(t, "create again", errs, err, kafka.TopicAlreadyExists)

	var all map[string]Topic
	await(t, func(ctx context.Context) error {
		all, err = c.Topics(ctx)
		if err == nil && len(all) != 2 {
			err = fmt.Errorf("topics %v", all)
		}
		return err
	})
	if a := all["a"]; len(a.Partitions) != 3 || len(a.Partitions[2].Replicas) != 1 || a.ID.IsZero() || a.Internal {
		t.Errorf("a is %+v", a)
	}
	if b := all["b"]; len(b.Partitions) != 2 {
		t.Errorf("b is %+v, the cluster's default is 2 partitions", b)
	}
	some, err := c.Topics(ctx, "b", "none")
	if err != nil || len(some) != 1 || some["b"].ID != all["b"].ID {
		t.Errorf("by name: %v %v", some, err)
	}
	settings, err := c.TopicSettings(ctx, "a", "b", "none")
	if err != nil || len(settings) != 2 || len(settings["b"]) != 0 || !maps.Equal(settings["a"], map[string]string{"retention.ms": "1000", "cleanup.policy": "compact"}) {
		t.Errorf("settings: %v %v", settings, err)
	}

	// What is only validated is not done.
	wanted := []TopicChange{
		{"a", SettingsChange{Set: map[string]string{"retention.ms": "2000"}, Remove: []string{"cleanup.policy"}}},
		{"b", SettingsChange{Set: map[string]string{"unknown.key": "1", "retention.ms": "5"}}},
		{"none", SettingsChange{Set: map[string]string{"retention.ms": "5"}}},
	}
	errs, err = c.AlterTopics(ctx, Validate, wanted)
	check(t, "validate settings", errs, err, 0, kafka.InvalidConfig, kafka.UnknownTopicOrPartition)
	grown := []Growth{{"a", 5}, {"b", 1}, {"none", 2}}
	errs, err = c.GrowTopics(ctx, Validate, grown)
	check(t, "validate growth", errs, err, 0, kafka.InvalidPartitions, kafka.UnknownTopicOrPartition)
	settings, err = c.TopicSettings(ctx, "a", "b")
	if err != nil || settings["a"]["retention.ms"] != "1000" || len(settings["b"]) != 0 {
		t.Errorf("after validation: %v %v", settings, err)
	}
	errs, err = c.AlterTopics(ctx, Apply, wanted)
	check(t, "alter", errs, err, 0, kafka.InvalidConfig, kafka.UnknownTopicOrPartition)
	errs, err = c.GrowTopics(ctx, Apply, grown)
	check(t, "grow", errs, err, 0, kafka.InvalidPartitions, kafka.UnknownTopicOrPartition)
	await(t, func(ctx context.Context) error {
		settings, err := c.TopicSettings(ctx, "a", "b")
		if err == nil && (!maps.Equal(settings["a"], map[string]string{"retention.ms": "2000"}) || len(settings["b"]) != 0) {
			err = fmt.Errorf("settings %v", settings)
		}
		if err != nil {
			return err
		}
		all, err = c.Topics(ctx)
		if err == nil && len(all["a"].Partitions) != 5 {
			err = fmt.Errorf("a has %d partitions", len(all["a"].Partitions))
		}
		return err
	})

	errs, err = c.ReassignTopics(ctx, []Reassignment{
		{"a", map[int32][]int32{0: {0, 1}, 1: {1, 2}, 2: {2, 0}, 3: {0, 1}, 4: {1, 2}}},
		{"b", map[int32][]int32{0: {0}, 1: {9}}},
	})
	check(t, "reassign", errs, err, 0, kafka.InvalidReplicaAssignment)
	await(t, func(ctx context.Context) error {
		moves, err := c.Moves(ctx)
		if err == nil && len(moves) > 0 {
			err = fmt.Errorf("moves %v", moves)
		}
		if err != nil {
			return err
		}
		all, err = c.Topics(ctx, "a")
		if err == nil && len(all["a"].Partitions[4].ISR) != 2 {
			err = fmt.Errorf("a is %+v", all["a"])
		}
		return err
	})

	errs, err = c.DeleteTopics(ctx, []DoomedTopic{{"a", all["a"].ID}, {Name: "b"}, {Name: "none"}, {"other", kafka.TopicID{1}}})
	check(t, "delete", errs, err, 0, 0, kafka.UnknownTopicOrPartition, kafka.UnknownTopicID)
	await(t, func(ctx context.Context) error {
		all, err := c.Topics(ctx)
		if err == nil && len(all) != 0 {
			err = fmt.Errorf("topics %v", all)
		}
		return err
	})
}

func TestBrokersOfACluster(t *testing.T) {
	cl, c := cluster(t, 3, nil)
	ctx := t.Context()
	if errs, err := c.CreateTopics(ctx, []NewTopic{{Name: "a", Partitions: 6, Replicas: 3}}); err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	await(t, func(ctx context.Context) error {
		o, err := c.Overview(ctx)
		if err == nil && (o.Replicas[0] != 6 || o.Replicas[2] != 6 || o.Leaders[1] != 2 || o.Health != PartitionHealth{Partitions: 6} || o.ClusterID == "") {
			err = fmt.Errorf("overview %+v", o)
		}
		return err
	})
	err := c.Unregister(ctx, 2)
	var r *Refusal
	if !errors.As(err, &r) {
		t.Errorf("a broker with replicas is unregistered: %v", err)
	}

	if err := cl.Kill(2); err != nil {
		t.Fatal(err)
	}
	await(t, func(ctx context.Context) error {
		o, err := c.Overview(ctx)
		if err == nil && (o.Health.UnderReplicated != 6 || o.Health.Offline != 0) {
			err = fmt.Errorf("overview %+v", o)
		}
		if err != nil {
			return err
		}
		known, err := c.Registered(ctx)
		if err == nil && (len(known) != 3 || !known[2].Fenced || known[0].Fenced || known[1].ID != 1) {
			err = fmt.Errorf("brokers %+v", known)
		}
		return err
	})
}

func TestSettingsOfACluster(t *testing.T) {
	_, c := cluster(t, 1, nil)
	ctx := t.Context()
	if err := c.AlterClusterSettings(ctx, SettingsChange{Set: map[string]string{"log.retention.ms": "1000", "num.io.threads": "3"}}); err != nil {
		t.Fatal(err)
	}
	await(t, func(ctx context.Context) error {
		got, err := c.ClusterSettings(ctx)
		if err == nil && !maps.Equal(got, map[string]string{"log.retention.ms": "1000", "num.io.threads": "3"}) {
			err = fmt.Errorf("settings %v", got)
		}
		return err
	})
	err := c.AlterClusterSettings(ctx, SettingsChange{Set: map[string]string{"log.retention.ms": "x"}, Remove: []string{"num.io.threads"}})
	var r *Refusal
	if !errors.As(err, &r) || !strings.Contains(r.Message, "log.retention.ms") {
		t.Errorf("a value that is no number: %v", err)
	}
	if err := c.AlterClusterSettings(ctx, SettingsChange{Remove: []string{"log.retention.ms"}}); err != nil {
		t.Fatal(err)
	}
	await(t, func(ctx context.Context) error {
		got, err := c.ClusterSettings(ctx)
		if err == nil && !maps.Equal(got, map[string]string{"num.io.threads": "3"}) {
			err = fmt.Errorf("settings %v", got)
		}
		return err
	})
}

func TestAClusterThatDoesNotAnswerIsAnErrorThatNamesIt(t *testing.T) {
	c, err := New("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = c.Topics(ctx)
	var r *Refusal
	if err == nil || errors.As(err, &r) || !strings.Contains(err.Error(), "topics of cluster at 127.0.0.1:1") {
		t.Error(err)
	}
	if ctx.Err() != nil {
		t.Error("the question had no limit of its own")
	}
}

// freePort was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000))
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	t.Fatal("no free port found")
	return ""
}

func TestAdminEndpointOfABroker(t *testing.T) {
	address := freePort(t)
	_, c := cluster(t, 1, map[string]string{"fairlead.admin.address": address})
	a, url, ctx := newAdmin(t), "http://"+address, t.Context()
	r, err := a.Readiness(ctx, url)
	if err != nil || !r.Ready || r.Phase != adminapi.Serving || r.ClusterID == "" {
		t.Errorf("readiness %+v %v", r, err)
	}
	v, err := a.SafeToStop(ctx, []string{url}, []int32{0})
	if err != nil || !v.Safe || len(v.Brokers) != 1 {
		t.Errorf("verdict %+v %v", v, err)
	}
	if errs, err := c.CreateTopics(ctx, []NewTopic{{Name: "a", Partitions: 2, Replicas: 1}}); err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	await(t, func(ctx context.Context) error {
		l, err := a.Load(ctx, url)
		if err == nil && len(l.Partitions) != 2 {
			err = fmt.Errorf("load %+v", l)
		}
		return err
	})
}
