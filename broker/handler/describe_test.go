package handler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// describePage describes topics, all when none is named, from a cursor on.
func describePage(limit int32, cursor *kmsg.DescribeTopicPartitionsRequestCursor, names ...string) *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit, req.Cursor = limit, cursor
	for _, name := range names {
		t := kmsg.NewDescribeTopicPartitionsRequestTopic()
		t.Topic = name
		req.Topics = append(req.Topics, t)
	}
	return req
}

// page prints an answer: topic:partitions or topic:error, and the cursor.
func page(resp *kmsg.DescribeTopicPartitionsResponse) string {
	var s []string
	for _, t := range resp.Topics {
		if t.ErrorCode != 0 {
			s = append(s, fmt.Sprintf("%s:%v", *t.Topic, kafka.ErrorCode(t.ErrorCode)))
			continue
		}
		var n []string
		for _, p := range t.Partitions {
			n = append(n, fmt.Sprint(p.Partition))
		}
		s = append(s, *t.Topic+":"+strings.Join(n, ","))
	}
	if c := resp.NextCursor; c != nil {
		s = append(s, fmt.Sprintf("next %s-%d", c.Topic, c.Partition))
	}
	return strings.Join(s, " ")
}

func TestPagesOfPartitions(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("a", on(self), on(self), on(self))
		w.topic("b", on(self, other))
		w.topic("c", on(self), on(self))
		at := func(topic string, partition int32) *kmsg.DescribeTopicPartitionsRequestCursor {
			c := kmsg.NewDescribeTopicPartitionsRequestCursor()
			c.Topic, c.Partition = topic, partition
			return &c
		}
		f := func(want string, req *kmsg.DescribeTopicPartitionsRequest) {
			t.Helper()
			if got := page(ask[*kmsg.DescribeTopicPartitionsResponse](w, req)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		f("a:0,1,2 b:0 c:0,1", describePage(2000, nil))
		f("a:0,1,2 b:0 c:0,1", describePage(0, nil))
		f("a:0,1 next a-2", describePage(2, nil))
		f("a:2 b:0 next c-0", describePage(2, at("a", 2)))
		f("a:0,1,2 next b-0", describePage(3, nil))
		f("b:0 c:0,1", describePage(3, at("b", 0)))
		f("a: b:0 c:0,1", describePage(10, at("a", 3)))
		f("c:0,1", describePage(10, at("bb", 5)))
		f("a:0,1,2 c:0,1", describePage(10, nil, "c", "a", "c"))
		f("c:1", describePage(10, at("c", 1), "a", "c"))
		f("no/name:INVALID_TOPIC_EXCEPTION x:UNKNOWN_TOPIC_OR_PARTITION", describePage(10, nil, "x", "no/name"))
		f("x:UNKNOWN_TOPIC_OR_PARTITION", describePage(10, at("gone", 0), "gone", "x"))
		f("a:INVALID_REQUEST b:INVALID_REQUEST", describePage(10, at("a", -1), "a", "b"))
		f("", describePage(10, at("a", math.MinInt32)))
		w.set("max.request.partition.size.limit", "4")
		f("a:0,1,2 b:0 next c-0", describePage(2000, nil))
		f("a:0,1,2 b:0 next c-0", describePage(-1, nil))
	})
}

func TestDescribedPartitionsTellWhoMayLead(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self, other, third))
		w.apply(&metadata.PartitionChange{TopicID: topicID("t"), Fields: metadata.SetISR | metadata.SetELR | metadata.SetLastKnownELR, ISR: on(self), ELR: on(other), LastKnownELR: on(third)})
		p := ask[*kmsg.DescribeTopicPartitionsResponse](w, describePage(1, nil, "t")).Topics[0].Partitions[0]
		if got := fmt.Sprint(p.Replicas, p.ISR, p.EligibleLeaderReplicas, p.LastKnownELR, p.LeaderID); got != "[1 2 3] [1] [2] [3] 1" {
			t.Error(got)
		}
	})
}

// describeConfigs asks for one resource.
func describeConfigs(version int16, kind kmsg.ConfigResourceType, name string, settings ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = version
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, settings
	req.Resources = append(req.Resources, r)
	return req
}

func TestDescribeConfigsKnowsItsResources(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		for _, c := range []struct {
			kind kmsg.ConfigResourceType
			name string
			want kafka.ErrorCode
		}{
			{kmsg.ConfigResourceTypeTopic, "t", kafka.None},
			{kmsg.ConfigResourceTypeTopic, "missing", kafka.UnknownTopicOrPartition},
			{kmsg.ConfigResourceTypeTopic, "no/name", kafka.InvalidTopicException},
			{kmsg.ConfigResourceTypeBroker, "1", kafka.None},
			{kmsg.ConfigResourceTypeBroker, "", kafka.None},
			{kmsg.ConfigResourceTypeBroker, "2", kafka.InvalidRequest},
			{kmsg.ConfigResourceTypeBroker, "one", kafka.InvalidRequest},
			{kmsg.ConfigResourceTypeBroker, "4294967297", kafka.InvalidRequest},
			{kmsg.ConfigResourceTypeBrokerLogger, "1", kafka.InvalidRequest},
			{kmsg.ConfigResourceTypeUnknown, "1", kafka.InvalidRequest},
			{99, "1", kafka.InvalidRequest},
		} {
			for version := int16(1); version <= 4; version++ {
				r := ask[*kmsg.DescribeConfigsResponse](w, describeConfigs(version, c.kind, c.name)).Resources[0]
				what := fmt.Sprintf("%v %q, version %d", c.kind, c.name, version)
				w.code(what, r.ErrorCode, c.want)
				if r.ResourceType != c.kind || r.ResourceName != c.name || (len(r.Configs) > 0) != (c.want == kafka.None && c.name != "") {
					t.Errorf("%s: %v %s with %d settings", what, r.ResourceType, r.ResourceName, len(r.Configs))
				}
			}
		}
	})
}

// A resource that one request names twice is described once.
func TestDescribeConfigsRefusesDoubledResources(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Version = 4
		name := func(kind kmsg.ConfigResourceType, name string) {
			r := kmsg.NewDescribeConfigsRequestResource()
			r.ResourceType, r.ResourceName = kind, name
			req.Resources = append(req.Resources, r)
		}
		for range 2 {
			name(kmsg.ConfigResourceTypeTopic, "t")
			name(kmsg.ConfigResourceTypeBroker, "1")
			name(kmsg.ConfigResourceTypeBroker, "")
			name(kmsg.ConfigResourceTypeBroker, "0001")
		}
		for i, r := range ask[*kmsg.DescribeConfigsResponse](w, req).Resources {
			want := kafka.InvalidRequest
			if i < 3 {
				want = kafka.None
			}
			w.code(fmt.Sprintf("mention %d, of %q", i, r.ResourceName), r.ErrorCode, want)
			if want != kafka.None && len(r.Configs) > 0 {
				t.Errorf("mention %d has %d settings", i, len(r.Configs))
			}
		}
	})
}

func TestDescribeConfigsTellsWhereAValueIsFrom(t *testing.T) {
	inWorld(t, func(w *world) {
		w.set("log.retention.ms", "5000")
		w.topic("t", on(self))
		w.apply(&metadata.ConfigRecord{Resource: metadata.TopicConfig("t"), Name: "retention.ms", Value: "1000"})
		req := describeConfigs(4, kmsg.ConfigResourceTypeTopic, "t", "retention.ms", "segment.bytes", "unknown")
		cs := ask[*kmsg.DescribeConfigsResponse](w, req).Resources[0].Configs
		if len(cs) != 2 || *cs[0].Value != "1000" && *cs[1].Value != "1000" || cs[0].Documentation != nil || len(cs[0].ConfigSynonyms) != 0 {
			t.Errorf("%+v", cs)
		}
		req = describeConfigs(4, kmsg.ConfigResourceTypeTopic, "t", "retention.ms")
		req.IncludeSynonyms, req.IncludeDocumentation = true, true
		c := ask[*kmsg.DescribeConfigsResponse](w, req).Resources[0].Configs[0]
		if c.Source != kmsg.ConfigSourceDynamicTopicConfig || c.Documentation == nil || c.ConfigType != kmsg.ConfigTypeLong ||
			len(c.ConfigSynonyms) < 2 || *c.ConfigSynonyms[1].Value != "5000" || c.ConfigSynonyms[1].Source != kmsg.ConfigSourceStaticBrokerConfig {
			t.Errorf("%+v", c)
		}
	})
}

func TestListConfigResources(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("t", on(self))
		f := func(version int16, want string, types ...int8) {
			t.Helper()
			req := kmsg.NewPtrListConfigResourcesRequest()
			req.Version, req.ResourceTypes = version, types
			resp := ask[*kmsg.ListConfigResourcesResponse](w, req)
			got := kafka.ErrorCode(resp.ErrorCode).String()
			for _, r := range resp.ConfigResources {
				got += fmt.Sprintf(" %d/%s", r.Type, r.Name)
			}
			if got != want {
				t.Errorf("version %d, %v: %s, want %s", version, types, got, want)
			}
		}
		f(0, "NONE")
		f(1, "NONE 2/t 4/1 4/2 4/3")
		f(1, "NONE 2/t", 2)
		f(1, "NONE", 16, 32)
		f(1, "UNSUPPORTED_VERSION", 2, 3)
	})
}

func TestDescribeLogDirs(t *testing.T) {
	inWorld(t, func(w *world) {
		w.topic("a", on(self), on(other), on(self, other))
		w.topic("b", on(other))
		w.write("a", "x")
		describe := func(version int16, named bool, partitions ...int32) kmsg.DescribeLogDirsResponseDir {
			req := kmsg.NewPtrDescribeLogDirsRequest()
			req.Version = version
			if named {
				for _, name := range []string{"a", "b", "missing"} {
					t := kmsg.NewDescribeLogDirsRequestTopic()
					t.Topic, t.Partitions = name, partitions
					req.Topics = append(req.Topics, t)
				}
			}
			return ask[*kmsg.DescribeLogDirsResponse](w, req).Dirs[0]
		}
		show := func(d kmsg.DescribeLogDirsResponseDir) (s string) {
			for _, t := range d.Topics {
				for _, p := range t.Partitions {
					s += fmt.Sprintf("%s-%d ", t.Topic, p.Partition)
				}
			}
			return s
		}
		for version := int16(1); version <= 5; version++ {
			d := describe(version, false)
			if show(d) != "a-0 a-2 " || d.Topics[0].Partitions[0].Size == 0 || d.Dir != "data" || version >= 4 && (d.TotalBytes != 1000 || d.UsableBytes != 600) {
				t.Errorf("version %d: %+v", version, d)
			}
			if got := show(describe(version, true, 0, 1, 7, -1)); got != "a-0 " {
				t.Errorf("version %d: some: %s", version, got)
			}
			if got := show(describe(version, true)); got != "" {
				t.Errorf("version %d: topics without partitions: %s", version, got)
			}
		}
		w.fs.Inject(vfs.Fault{Op: vfs.OpWrite, Err: errors.New("broken disk")})
		w.send(produceTo(9, 1, batch(t, record.BuilderOptions{}, "a"), "a")).outcome()
		w.code("a failed directory", describe(4, false).ErrorCode, kafka.KafkaStorageError)
	})
}

func TestDescribeCluster(t *testing.T) {
	inWorld(t, func(w *world) {
		w.apply(&metadata.BrokerChange{ID: third, Epoch: 3, Fenced: true})
		for version := int16(0); version <= 2; version++ {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.Version, req.IncludeFencedBrokers, req.IncludeClusterAuthorizedOperations = version, version == 2, true
			resp := ask[*kmsg.DescribeClusterResponse](w, req)
			want := 2
			if version == 2 {
				want = 3
			}
			if resp.ErrorCode != 0 || resp.ClusterID != "c" || len(resp.Brokers) != want || kafka.NodeID(resp.ControllerID) != other || resp.ClusterAuthorizedOperations != clusterOperations ||
				version == 2 && (!resp.Brokers[2].IsFenced || resp.Brokers[1].IsFenced) {
				t.Errorf("version %d: %+v", version, resp)
			}
			req.EndpointType = 2
			if version >= 1 {
				w.code("controllers", ask[*kmsg.DescribeClusterResponse](w, req).ErrorCode, kafka.MismatchedEndpointType)
				req.EndpointType = 9
				w.code("neither", ask[*kmsg.DescribeClusterResponse](w, req).ErrorCode, kafka.UnsupportedEndpointType)
			}
		}
	})
}

func TestApiVersions(t *testing.T) {
	inWorld(t, func(w *world) {
		w.apply(&metadata.FeatureRecord{Name: "metadata.version", Level: 30})
		for version := int16(0); version <= 5; version++ {
			req := kmsg.NewPtrApiVersionsRequest()
			req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = version, "kgo", "1.2"
			resp := ask[*kmsg.ApiVersionsResponse](w, req)
			if resp.ErrorCode != 0 || len(resp.ApiKeys) != len(apis) {
				t.Errorf("version %d: %v with %d keys", version, kafka.ErrorCode(resp.ErrorCode), len(resp.ApiKeys))
			}
			if version >= 3 && (len(resp.FinalizedFeatures) != 1 || resp.FinalizedFeatures[0].MaxVersionLevel != 30 || w.info.Software().Name != "kgo") {
				t.Errorf("version %d: %+v of %v", version, resp.FinalizedFeatures, w.info.Software())
			}
			if version >= 3 {
				req.ClientSoftwareName = "no good"
				w.code("a software's name", ask[*kmsg.ApiVersionsResponse](w, req).ErrorCode, kafka.InvalidRequest)
			}
		}
		f := func(what string, cluster *string, node int32, want kafka.ErrorCode) {
			t.Helper()
			req := kmsg.NewPtrApiVersionsRequest()
			req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion, req.ClusterID, req.NodeID = 5, "kgo", "1", cluster, node
			w.code(what, ask[*kmsg.ApiVersionsResponse](w, req).ErrorCode, want)
		}
		c, d := "c", "d"
		f("this very broker", &c, 1, kafka.None)
		f("any", nil, -1, kafka.None)
		f("another cluster", &d, -1, kafka.RebootstrapRequired)
		f("another node", &c, 2, kafka.RebootstrapRequired)
	})
}

func TestDescribeQuorum(t *testing.T) {
	inWorld(t, func(w *world) {
		req, others := NewDescribeQuorumRequest(), kmsg.NewPtrDescribeQuorumRequest()
		for _, name := range []string{metadataTopicName, "t"} {
			topic := kmsg.NewDescribeQuorumRequestTopic()
			topic.Topic, topic.Partitions = name, []kmsg.DescribeQuorumRequestTopicPartition{{Partition: 0}, {Partition: 0}}
			others.Topics = append(others.Topics, topic)
		}
		<-time.After(time.Minute)
		now, heard := w.Elapsed(), int64(w.Wall())-1000
		w.controller.status = quorum.Status{Leader: self, Leading: true, Epoch: 4, HighWatermark: 10, Voters: []quorum.Replica{
			{Voter: quorum.Voter{Node: self}, LogEnd: 11, LastFetch: -1, LastCaughtUp: -1}, {Voter: quorum.Voter{Node: other}, LogEnd: 9, LastFetch: now.Add(-time.Second), LastCaughtUp: -1},
		}, Observers: []quorum.Replica{{Voter: quorum.Voter{Node: third}}}}
		for version := int16(0); version <= 2; version++ {
			req.Version = version
			resp := ask[*kmsg.DescribeQuorumResponse](w, req)
			p := resp.Topics[0].Partitions[0]
			if p.ErrorCode != 0 || p.LeaderID != 1 || p.LeaderEpoch != 4 || p.HighWatermark != 10 || len(p.CurrentVoters) != 2 || len(p.Observers) != 1 || p.CurrentVoters[1].LogEndOffset != 9 {
				t.Errorf("version %d: %+v", version, p)
			}
			if version >= 1 && (p.CurrentVoters[1].LastFetchTimestamp != heard || p.CurrentVoters[1].LastCaughtUpTimestamp != -1) {
				t.Errorf("version %d: %+v", version, p.CurrentVoters)
			}
			if version >= 2 && (len(resp.Nodes) != 2 || resp.Nodes[1].Listeners[0].Host != "host2") {
				t.Errorf("version %d: %+v", version, resp.Nodes)
			}
			others.Version = version
			refused := ask[*kmsg.DescribeQuorumResponse](w, others)
			for _, topic := range refused.Topics {
				for _, p := range topic.Partitions {
					w.code("more than the quorum's partition", p.ErrorCode, kafka.UnknownTopicOrPartition)
				}
			}
			if len(refused.Topics) != 2 || len(refused.Topics[1].Partitions) != 2 || len(refused.Nodes) != 0 {
				t.Errorf("version %d: %+v", version, refused)
			}
			w.controller.status.Leading = false
			w.controller.answer = func(_ context.Context, r kmsg.Request) (kmsg.Response, error) {
				return DescribeQuorum(w.controller.status, w.images.Current(), w, r.(*kmsg.DescribeQuorumRequest)), nil
			}
			if got := ask[*kmsg.DescribeQuorumResponse](w, req); got.Topics[0].Partitions[0].HighWatermark != 10 {
				t.Errorf("version %d, asked of the leader: %+v", version, got)
			}
			w.controller.answer = nil
			w.code("no leader", ask[*kmsg.DescribeQuorumResponse](w, req).ErrorCode, kafka.RequestTimedOut)
			w.controller.status.Leading = true
		}
	})
}
