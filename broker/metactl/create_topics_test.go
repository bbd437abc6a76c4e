package metactl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestCreateTopicsJudgesEachTopicByItself has one request with every mistake, and good topics between them.
func TestCreateTopicsJudgesEachTopicByItself(t *testing.T) {
	rows := []struct {
		what  string
		topic kmsg.CreateTopicsRequestTopic
		code  kafka.ErrorCode
	}{
		{"good topic", newTopic("good", 2, 1), kafka.None},
		{"empty name", newTopic("", 1, 1), kafka.InvalidTopicException},
		{"name ..", newTopic("..", 1, 1), kafka.InvalidTopicException},
		{"name of 250 characters", newTopic(strings.Repeat("x", 250), 1, 1), kafka.InvalidTopicException},
		{"name outside ASCII", newTopic("é", 1, 1), kafka.InvalidTopicException},
		{"existing topic", newTopic("existing", 1, 1), kafka.TopicAlreadyExists},
		{"no partitions", newTopic("p0", 0, 1), kafka.InvalidPartitions},
		{"partitions -2", newTopic("p2", -2, 1), kafka.InvalidPartitions},
		{"replication factor 0", newTopic("r0", 1, 0), kafka.InvalidReplicationFactor},
		{"replication factor -2", newTopic("r2", 1, -2), kafka.InvalidReplicationFactor},
		{"more replicas than brokers", newTopic("r4", 1, 4), kafka.InvalidReplicationFactor},
		{"one broker twice", placedTopic("twice", [][]int32{{0, 0}}), kafka.InvalidReplicaAssignment},
		{"unknown broker", placedTopic("unknown", [][]int32{{99}}), kafka.InvalidReplicaAssignment},
		{"no replicas", placedTopic("none", [][]int32{{}}), kafka.InvalidReplicaAssignment},
		{"gap in partition numbers", gapped("gap"), kafka.InvalidReplicaAssignment},
		{"unknown setting", newTopic("s1", 1, 1, "no.such.setting=1"), kafka.InvalidConfig},
		{"setting out of range", newTopic("s2", 1, 1, "min.insync.replicas=0"), kafka.InvalidConfig},
		{"defaults", newTopic("defaults", -1, -1), kafka.None},
		{"placed topic", placedTopic("placed", [][]int32{{2, 1}, {0, 1}}, "cleanup.policy=compact"), kafka.None},
	}
	for _, validateOnly := range []bool{false, true} {
		w := newWorld(t, Options{DefaultPartitions: 4, DefaultReplicas: 3, Static: config.Values{"log.retention.ms": "77"}})
		w.start(3)
		w.create(newTopic("existing", 1, 1))
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.ValidateOnly = 7, validateOnly
		for _, r := range rows {
			req.Topics = append(req.Topics, r.topic)
		}
		req.Topics = append(req.Topics, newTopic("doubled", 1, 1), newTopic("last", 1, 1), newTopic("doubled", 1, 1))
		index := w.index
		resp := decide[*kmsg.CreateTopicsResponse](w, req)
		if len(resp.Topics) != len(rows)+2 {
			t.Fatalf("%d entries, want %d", len(resp.Topics), len(rows)+2)
		}
		for i, r := range rows {
			got := resp.Topics[i]
			if got.Topic != r.topic.Topic || got.ErrorCode != int16(r.code) || (got.ErrorMessage == nil) != (r.code == 0) {
				t.Errorf("%s: entry %q with code %d, want %q with %d and a message only with an error", r.what, got.Topic, got.ErrorCode, r.topic.Topic, r.code)
			}
		}
		if got := resp.Topics[len(rows)]; got.Topic != "doubled" || got.ErrorCode != int16(kafka.InvalidRequest) {
			t.Errorf("doubled name: %+v", got)
		}
		if got := resp.Topics[0]; got.NumPartitions != 2 || got.ReplicationFactor != 1 {
			t.Errorf("counts in the reply: %d and %d, want 2 and 1", got.NumPartitions, got.ReplicationFactor)
		}
		if validateOnly {
			if w.index != index || w.image().NumTopics() != 1 || resp.Topics[0].TopicID != [16]byte{} {
				t.Error("validate_only changed the cluster or gave an id")
			}
			continue
		}
		if w.index != index+1 {
			t.Errorf("%d log entries for one request, want 1", w.index-index)
		}
		defaults, placed := w.image().TopicByName("defaults"), w.image().TopicByName("placed")
		if defaults.NumPartitions() != 4 || len(defaults.Partition(0).Replicas) != 3 {
			t.Errorf("defaults: %d partitions with replicas %v", defaults.NumPartitions(), defaults.Partition(0).Replicas)
		}
		if got := fmt.Sprint(placed.Partition(0).Replicas, placed.Partition(1).Replicas, placed.Partition(0).Leader); got != "[2 1] [0 1] 2" {
			t.Errorf("placed topic: %s", got)
		}
		if w.image().TopicByName("good").ID != kafka.TopicID(resp.Topics[0].TopicID) {
			t.Error("the reply has another topic id than the image")
		}
		settings := map[string]string{}
		for _, c := range resp.Topics[len(rows)-1].Configs {
			if c.Value != nil {
				settings[c.Name] = *c.Value
			}
		}
		if settings["cleanup.policy"] != "compact" || settings["retention.ms"] != "77" {
			t.Errorf("settings in the reply: cleanup.policy %q and retention.ms %q, want compact and 77", settings["cleanup.policy"], settings["retention.ms"])
		}
		w.checkReplay()
	}
}

func gapped(name string) kmsg.CreateTopicsRequestTopic {
	rt := placedTopic(name, [][]int32{{0}, {1}})
	rt.ReplicaAssignment[1].Partition = 2
	return rt
}

func TestCollidingNames(t *testing.T) {
	w := newWorld(t, Options{})
	w.start(1)
	f := func(name string, want kafka.ErrorCode) {
		t.Helper()
		if got := w.create(newTopic(name, 1, 1)).Topics[0].ErrorCode; got != int16(want) {
			t.Errorf("creating %q: code %d, want %d", name, got, want)
		}
	}
	f("a.b_c", kafka.None)
	f("a_b.c", kafka.InvalidTopicException)
	f("a.b.c", kafka.InvalidTopicException)
	f("a-b-c", kafka.None)
	f("a.b_cd", kafka.None)
	f("_x", kafka.None)
	f(".x", kafka.InvalidTopicException)
	if got := w.create(newTopic("n.1", 1, 1), newTopic("n_1", 1, 1)).Topics; got[0].ErrorCode != 0 || got[1].ErrorCode != int16(kafka.InvalidTopicException) {
		t.Errorf("two names of one request that collide: codes %d and %d, want 0 and 17", got[0].ErrorCode, got[1].ErrorCode)
	}
}

// TestRefusalsHaveNoSettings: none, not null, which says that the caller may not see them.
func TestRefusalsHaveNoSettings(t *testing.T) {
	w := newWorld(t, Options{})
	w.start(1)
	for _, rt := range w.create(newTopic("twice", 1, 1), newTopic("twice", 1, 1), newTopic("a/b", 1, 1), newTopic("far", 1, 2)).Topics {
		if rt.ErrorCode == 0 || rt.Configs == nil || len(rt.Configs) > 0 || rt.NumPartitions != -1 || rt.ReplicationFactor != -1 {
			t.Errorf("%+v", rt)
		}
	}
}

func TestPartitionsPerRequest(t *testing.T) {
	w := newWorld(t, Options{})
	w.start(1)
	got := w.create(newTopic("a", maxNewPartitions-1, 1), newTopic("b", 2, 1), newTopic("c", 1, 1)).Topics
	if got[0].ErrorCode != 0 || got[1].ErrorCode != int16(kafka.PolicyViolation) || got[2].ErrorCode != 0 {
		t.Errorf("codes %d %d %d, want the topic that exceeds the bound refused with 44", got[0].ErrorCode, got[1].ErrorCode, got[2].ErrorCode)
	}
}

func TestDeleteTopicsByNameAndID(t *testing.T) {
	w := newWorld(t, Options{})
	w.start(1)
	ids := map[string][16]byte{}
	for _, rt := range w.create(newTopic("a", 1, 1), newTopic("b", 1, 1), newTopic("c", 1, 1)).Topics {
		ids[rt.Topic] = rt.TopicID
	}
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version = 6
	add := func(name string, id [16]byte) {
		rt := kmsg.NewDeleteTopicsRequestTopic()
		rt.TopicID = id
		if name != "" {
			rt.Topic = &name
		}
		req.Topics = append(req.Topics, rt)
	}
	none := [16]byte{}
	add("", ids["a"])
	add("b", none)
	add("c", ids["c"])   // both
	add("", none)        // neither
	add("", [16]byte{9}) // unknown id
	add("unknown", none) // unknown name
	want := []kafka.ErrorCode{0, 0, 42, 42, 100, 3}
	for i, rt := range decide[*kmsg.DeleteTopicsResponse](w, req).Topics {
		if rt.ErrorCode != int16(want[i]) {
			t.Errorf("entry %d: code %d, want %d", i, rt.ErrorCode, want[i])
		}
	}
	if w.image().NumTopics() != 1 {
		t.Errorf("%d topics are left, want 1", w.image().NumTopics())
	}

	again := kmsg.NewPtrDeleteTopicsRequest()
	again.Version, again.TopicNames = 4, []string{"c", "a"}
	resp := decide[*kmsg.DeleteTopicsResponse](w, again)
	if resp.Topics[0].ErrorCode != 0 || resp.Topics[1].ErrorCode != 3 || *resp.Topics[1].Topic != "a" {
		t.Errorf("version 4: %+v", resp.Topics)
	}
	if w.create(newTopic("a", 1, 1)).Topics[0].TopicID == ids["a"] {
		t.Error("a topic created again has the id of its former life")
	}
}

func TestAlterConfigsReplacesAll(t *testing.T) {
	w := newWorld(t, Options{})
	w.start(1)
	w.create(newTopic("t", 1, 1, "retention.ms=5", "flush.ms=6"))
	alter := func(validateOnly bool, resources ...kmsg.AlterConfigsRequestResource) []kmsg.AlterConfigsResponseResource {
		req := kmsg.NewPtrAlterConfigsRequest()
		req.Resources, req.ValidateOnly = resources, validateOnly
		return decide[*kmsg.AlterConfigsResponse](w, req).Resources
	}
	resource := func(name string, settings ...string) kmsg.AlterConfigsRequestResource {
		r := kmsg.AlterConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name}
		for _, c := range newTopic("", 0, 0, settings...).Configs {
			r.Configs = append(r.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: c.Name, Value: c.Value})
		}
		return r
	}
	check := func(want string) {
		t.Helper()
		if got := fmt.Sprint(w.image().Config(metadata.TopicConfig("t"))); got != want {
			t.Errorf("settings %s, want %s", got, want)
		}
	}
	if got := alter(true, resource("t", "flush.ms=9")); got[0].ErrorCode != 0 {
		t.Errorf("%+v", got)
	}
	check("[{flush.ms 6} {retention.ms 5}]")
	if got := alter(false, resource("t", "flush.ms=9"), resource("nope")); got[0].ErrorCode != 0 || got[1].ErrorCode != 3 {
		t.Errorf("%+v", got)
	}
	check("[{flush.ms 9}]")
	if got := alter(false, resource("t"), resource("t")); got[0].ErrorCode != 42 || got[1].ErrorCode != 42 {
		t.Errorf("one resource twice: %+v, want 42 for both", got)
	}
	if got := alter(false, resource("t", "flush.ms=1", "flush.ms=2")); got[0].ErrorCode != 42 {
		t.Errorf("one key twice: %+v, want 42", got)
	}
	check("[{flush.ms 9}]")
	group := kmsg.AlterConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeGroupConfig, ResourceName: "g"}
	if got := alter(false, group); got[0].ErrorCode != 42 {
		t.Errorf("settings of a group: %+v, want 42", got)
	}
}
