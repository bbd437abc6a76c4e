package handler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// metadataOf asks for topics by name.
func metadataOf(version int16, names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.Topics = version, []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	return req
}

// createTopics is a controller that creates what it is asked for, with one partition on this broker.
func (w *world) createTopics(_ context.Context, r kmsg.Request) (kmsg.Response, error) {
	req := r.(*kmsg.CreateTopicsRequest)
	for _, t := range req.Topics {
		if w.images.Current().TopicByName(t.Topic) == nil {
			w.topic(t.Topic, on(self))
		}
	}
	return req.ResponseKind(), nil
}

func TestMetadataIsAnsweredInEveryVersion(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("a", on(self, other), on(other, third))
		w.topic("b", on(self))
		w.topic("__consumer_offsets", on(self))
		for version := int16(0); version <= 13; version++ {
			resp := ask[*kmsg.MetadataResponse](w, metadataOf(version, "a"))
			if len(resp.Topics) != 1 || *resp.Topics[0].Topic != "a" || len(resp.Topics[0].Partitions) != 2 || len(resp.Brokers) != 3 || resp.Brokers[1].Host != "host2" || resp.Brokers[1].Port != 9002 {
				t.Fatalf("version %d: %+v", version, resp)
			}
			if version >= 1 && (kafka.NodeID(resp.ControllerID) != other || *resp.Brokers[1].Rack != "rack2") || version >= 2 && *resp.ClusterID != "c" {
				t.Errorf("version %d: %+v", version, resp)
			}
			p := resp.Topics[0].Partitions[1]
			if p.Partition != 1 || kafka.NodeID(p.Leader) != other || fmt.Sprint(p.Replicas, p.ISR) != "[2 3] [2 3]" || version >= 7 && p.LeaderEpoch != 0 {
				t.Errorf("version %d: %+v", version, p)
			}
			none := metadataOf(version)
			all := metadataOf(version)
			all.Topics = nil
			want := 0
			if version == 0 {
				want = 3 // an empty list means all
			} else if got := ask[*kmsg.MetadataResponse](w, all).Topics; len(got) != 3 || !got[0].IsInternal || got[1].IsInternal {
				t.Errorf("version %d: all: %+v", version, got)
			}
			if got := len(ask[*kmsg.MetadataResponse](w, none).Topics); got != want {
				t.Errorf("version %d: an empty list gives %d topics, want %d", version, got, want)
			}
			if got := len(ask[*kmsg.MetadataResponse](w, metadataOf(version, "a", "b", "a")).Topics); got != 2 {
				t.Errorf("version %d: a topic named twice gives %d topics", version, got)
			}
			if got := len(ask[*kmsg.MetadataResponse](w, metadataOf(version, "no", "..", "no", "..")).Topics); got != 2 {
				t.Errorf("version %d: missing and ill-named topics named twice give %d topics", version, got)
			}
		}
	})
}

func TestMetadataSaysWhatIsMissing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self, other))
		f := func(what string, asked kmsg.MetadataRequestTopic, want kafka.ErrorCode) {
			t.Helper()
			req := metadataOf(12)
			req.Topics = append(req.Topics, asked)
			w.code(what, ask[*kmsg.MetadataResponse](w, req).Topics[0].ErrorCode, want)
		}
		named := func(name string) kmsg.MetadataRequestTopic { return kmsg.MetadataRequestTopic{Topic: &name} }
		f("unknown", named("missing"), kafka.UnknownTopicOrPartition)
		f("invalid", named("no/name"), kafka.InvalidTopicException)
		f("empty", named(""), kafka.InvalidTopicException)
		f("unknown id", kmsg.MetadataRequestTopic{TopicID: topicID("x")}, kafka.UnknownTopicID)
		f("no id", kmsg.MetadataRequestTopic{}, kafka.UnknownTopicID)
		f("by id", kmsg.MetadataRequestTopic{TopicID: topicID("t")}, kafka.None)
		f("by name", named("t"), kafka.None)

		partition := func() kmsg.MetadataResponseTopicPartition {
			return ask[*kmsg.MetadataResponse](w, metadataOf(12, "t")).Topics[0].Partitions[0]
		}
		w.apply(&metadata.PartitionChange{TopicID: topicID("t"), Fields: metadata.SetLeader, Leader: other})
		w.apply(&metadata.BrokerChange{ID: other, Epoch: 2, Fenced: true})
		p := partition()
		w.code("the leader is fenced", p.ErrorCode, kafka.LeaderNotAvailable)
		if p.Leader != -1 || fmt.Sprint(p.OfflineReplicas) != "[2]" {
			t.Errorf("%+v", p)
		}
		w.apply(&metadata.RegisterBroker{Broker: metadata.Broker{ID: other, Epoch: 9, Endpoints: []metadata.Endpoint{{Listener: "CONTROLLER", Host: "h", Port: 1}}}})
		w.code("the leader is not on this listener", partition().ErrorCode, kafka.ListenerNotFound)
		w.apply(&metadata.PartitionChange{TopicID: topicID("t"), Fields: metadata.SetLeader, Leader: kafka.NoNode})
		w.code("no leader", partition().ErrorCode, kafka.LeaderNotAvailable)
		if id := ask[*kmsg.MetadataResponse](w, metadataOf(12)).ControllerID; kafka.NodeID(id) != self {
			t.Errorf("controller %d, want this broker while the quorum's leader cannot be reached", id)
		}
	})
}

func TestMetadataTellsWhatMayBeDoneOnlyWhenAsked(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		req := metadataOf(10, "t")
		resp := ask[*kmsg.MetadataResponse](w, req)
		if resp.AuthorizedOperations != noOperations || resp.Topics[0].AuthorizedOperations != noOperations {
			t.Errorf("not asked: %+v", resp)
		}
		req.IncludeClusterAuthorizedOperations, req.IncludeTopicAuthorizedOperations = true, true
		resp = ask[*kmsg.MetadataResponse](w, req)
		if resp.AuthorizedOperations != clusterOperations || resp.Topics[0].AuthorizedOperations != topicOperations {
			t.Errorf("asked: %+v", resp)
		}
	})
}

func TestMissingTopicsAreCreatedWhenAllowed(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int16
		allowed bool
		setting string
		topic   string
		want    kafka.ErrorCode
		created int
	}{
		{"before the client could say", 3, false, "true", "new", kafka.None, 1},
		{"the client allows it", 4, true, "true", "new", kafka.None, 1},
		{"the client does not", 4, false, "true", "new", kafka.UnknownTopicOrPartition, 0},
		{"the broker does not", 13, true, "false", "new", kafka.UnknownTopicOrPartition, 0},
		{"an invalid name", 13, true, "true", "no/name", kafka.InvalidTopicException, 0},
		{"one that is there", 13, true, "true", "t", kafka.None, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.topic("t", on(self))
				w.set("auto.create.topics.enable", c.setting)
				w.controller.answer = w.createTopics
				req := metadataOf(c.version, c.topic, c.topic)
				req.AllowAutoTopicCreation = c.allowed
				resp := ask[*kmsg.MetadataResponse](w, req)
				w.code(c.name, resp.Topics[0].ErrorCode, c.want)
				if got := w.controller.count(); got != c.created {
					t.Errorf("%d commands, want %d", got, c.created)
				}
			})
		})
	}
}

// TestAThousandAskersOfOneTopicCauseOneCommand, those who come while it is under way and those who come late.
func TestAThousandAskersOfOneTopicCauseOneCommand(t *testing.T) {
	inWorld(t, func(w *world) {
		w.set("auto.create.topics.enable", "true")
		create := make(chan struct{})
		w.controller.answer = func(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
			<-create
			return w.createTopics(ctx, req)
		}
		req := metadataOf(12, "new")
		req.AllowAutoTopicCreation = true
		var all []*asked
		for range 1000 {
			all = append(all, w.send(req))
		}
		synctest.Wait()
		close(create)
		for _, a := range all {
			if resp := a.response().(*kmsg.MetadataResponse); resp.Topics[0].ErrorCode != 0 || len(resp.Topics[0].Partitions) != 1 {
				t.Fatalf("%+v", resp.Topics[0])
			}
		}
		// One whose look at the cluster was before, and whose turn comes after.
		w.h.creations.create(t.Context(), w.h, []string{"new"})
		if n := w.controller.count(); n != 1 {
			t.Errorf("%d commands", n)
		}
	})
}

// TestACreationWithoutAnswerIsTriedAgainByTheClient: the code says so, and the next request begins another command.
func TestACreationWithoutAnswerIsTriedAgainByTheClient(t *testing.T) {
	inWorld(t, func(w *world) {
		w.set("auto.create.topics.enable", "true")
		req := metadataOf(12, "new")
		req.AllowAutoTopicCreation = true
		began := time.Now()
		w.code("no answer", ask[*kmsg.MetadataResponse](w, req).Topics[0].ErrorCode, kafka.LeaderNotAvailable)
		if took := time.Since(began); took != autoCreateWait {
			t.Errorf("took %v", took)
		}
		w.controller.answer = func(context.Context, kmsg.Request) (kmsg.Response, error) { return nil, errors.New("no leader") }
		w.code("refused", ask[*kmsg.MetadataResponse](w, req).Topics[0].ErrorCode, kafka.LeaderNotAvailable)
		w.controller.answer = w.createTopics
		w.code("at last", ask[*kmsg.MetadataResponse](w, req).Topics[0].ErrorCode, kafka.None)
	})
}

func TestTheOffsetsTopicIsCreatedInItsShape(t *testing.T) {
	inWorld(t, func(w *world) {
		w.set("offsets.topic.num.partitions", "7")
		w.set("offsets.topic.replication.factor", "2")
		w.controller.answer = w.createTopics
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version, req.CoordinatorKeys = 4, []string{"g", "h"}
		resp := ask[*kmsg.FindCoordinatorResponse](w, req)
		if len(resp.Coordinators) != 2 || resp.Coordinators[1].Key != "h" || kafka.NodeID(resp.Coordinators[0].NodeID) != self || resp.Coordinators[0].Host != "host1" {
			t.Errorf("%+v", resp)
		}
		topic := w.controller.asked[0].(*kmsg.CreateTopicsRequest).Topics[0]
		if topic.NumPartitions != 7 || topic.ReplicationFactor != 2 || topic.Configs[0].Name != "cleanup.policy" || *topic.Configs[0].Value != "compact" {
			t.Errorf("%+v", topic)
		}
	})
}

func TestFindCoordinatorInEveryVersion(t *testing.T) {
	inWorld(t, func(w *world) {
		f := func(what string, kind int8, want kafka.ErrorCode) {
			t.Helper()
			for version := int16(0); version <= 6; version++ {
				req := kmsg.NewPtrFindCoordinatorRequest()
				req.Version, req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = version, kind, "g", []string{"g"}
				resp := ask[*kmsg.FindCoordinatorResponse](w, req)
				code, node := resp.ErrorCode, resp.NodeID
				if version >= 4 {
					code, node = resp.Coordinators[0].ErrorCode, resp.Coordinators[0].NodeID
				}
				if version == 0 && kind != 0 {
					continue // has no field for it
				}
				w.code(fmt.Sprintf("%s, version %d", what, version), code, want)
				if want == kafka.None && kafka.NodeID(node) != self || want != kafka.None && node != -1 {
					t.Errorf("%s, version %d: node %d", what, version, node)
				}
			}
		}
		f("no offsets topic", groupCoordinator, kafka.CoordinatorNotAvailable)
		w.topic("__consumer_offsets", on(self, other))
		f("a group", groupCoordinator, kafka.None)
		f("a transaction", transactionCoordinator, kafka.InvalidRequest)
		f("something else", 7, kafka.InvalidRequest)
		w.elect("__consumer_offsets", kafka.NoNode)
		f("no leader", groupCoordinator, kafka.CoordinatorNotAvailable)
	})
}
