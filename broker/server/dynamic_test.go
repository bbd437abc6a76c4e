package server

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// liveSettings says how a running broker shows each dynamic setting that is no default of a topic's, with a value to try.
var liveSettings = map[string]struct {
	value string
	now   func(m *machine) any
	want  any
}{
	"leader.replication.throttled.rate":   {"1234", func(m *machine) any { return m.resolvedNow().Replica.LeaderThrottle }, int64(1234)},
	"follower.replication.throttled.rate": {"4321", func(m *machine) any { return m.resolvedNow().Replica.FollowerThrottle }, int64(4321)},
	"log.cleaner.backoff.ms":              {"77", func(m *machine) any { return m.intervals().Compaction().Milliseconds() }, int64(77)},
	"producer.id.expiration.ms": {"88000", func(m *machine) any {
		return m.partitionOptions(m.resolvedNow()).ProducerExpiry().Milliseconds()
	}, int64(88000)},
	"fairlead.shutdown.drain.ms": {"99", func(m *machine) any { return m.resolvedNow().Quorum.DrainTime.Milliseconds() }, int64(99)},
	"max.connections":            {"5000", func(m *machine) any { n, _ := m.clientServer.Limits(); return n }, 5000},
	"max.connections.per.ip":     {"400", func(m *machine) any { _, n := m.clientServer.Limits(); return n }, 400},
}

func (m *machine) resolvedNow() *config.Broker { return m.Server.settings.broker() }

// Every setting that the table calls dynamic takes effect in a broker that runs, when it is altered for all brokers or, where that is not
// allowed, for this one.
func TestDynamicSettingsTakeEffect(t *testing.T) {
	m := cluster(t, 1, nil)[0]
	m.create("t", 1)
	topicDefaults := map[string]string{} // broker setting: a topic's
	for _, d := range config.TopicDefs() {
		for _, s := range d.Synonyms {
			topicDefaults[s.Name] = d.Name
		}
	}
	alter := func(name, resource, value string) {
		t.Helper()
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Value = name, &value
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBroker, resource
		r.Configs = append(r.Configs, c)
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Version = req.MaxVersion()
		req.Resources = append(req.Resources, r)
		if got := m.dial().ask(req).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]; got.ErrorCode != 0 {
			t.Errorf("%s for %q: %s %s", name, resource, kafka.ErrorCode(got.ErrorCode), *got.ErrorMessage)
		}
	}
	seen := 0
	for i := range config.BrokerDefs() {
		d := &config.BrokerDefs()[i]
		live, listed := liveSettings[d.Name]
		topic, isDefault := topicDefaults[d.Name]
		if d.Dynamic() == config.ReadOnly || d.Meaning == config.Ignored {
			if listed {
				t.Errorf("%s is listed and not dynamic", d.Name)
			}
			continue
		}
		resource := ""
		if d.Dynamic() == config.PerBroker {
			resource = "0"
		}
		switch {
		case isDefault && d.Type == config.Long || isDefault && d.Type == config.Int:
			seen++
			value := "1048577" // allowed by the range of each of them, but for levels of compression
			if d.Check(value) != nil {
				value = "5"
			}
			alter(d.Name, resource, value)
			eventually(t, d.Name+" is the default of "+topic, func() bool { return m.topicSetting(topic) == value })
		case isDefault:
			seen++ // resolved by the same way
		case listed:
			seen++
			alter(d.Name, resource, live.value)
			eventually(t, fmt.Sprintf("%s is %s", d.Name, live.value), func() bool { return live.now(m) == live.want })
		default:
			t.Errorf("%s is dynamic by the table, and nothing here shows that it takes effect", d.Name)
		}
	}
	if seen < 30 {
		t.Errorf("only %d dynamic settings", seen)
	}
	// What the leader of the partition has is what its settings resolve to.
	alter("message.max.bytes", "", "2000")
	p, _ := m.partitions.Get(kafka.TopicPartition{Topic: "t"})
	eventually(t, "the partition has the altered default", func() bool { return p.Settings().MaxMessageBytes == 2000 })
}

// topicSetting is what DescribeConfigs says of any topic's setting.
func (m *machine) topicSetting(name string) string {
	layers := m.Server.settings.layersOf(m.images.Current())
	for _, e := range config.DescribeTopic(layers) {
		if e.Name == name && e.Value != nil {
			return *e.Value
		}
	}
	return ""
}
