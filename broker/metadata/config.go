package metadata

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// ResourceType is what a setting belongs to, by Kafka's number.
type ResourceType int8

const (
	TopicResource  ResourceType = 2
	BrokerResource ResourceType = 4
)

// Resource names what settings belong to: a topic, a broker by its id, or all brokers (a broker without a name).
type Resource struct {
	Type ResourceType
	Name string
}

// TopicConfig names a topic's settings.
func TopicConfig(topic string) Resource { return Resource{TopicResource, topic} }

// BrokerConfig names one broker's settings.
func BrokerConfig(n kafka.NodeID) Resource {
	return Resource{BrokerResource, strconv.Itoa(int(n))}
}

// DefaultBrokerConfig names the settings of all brokers that have none of their own.
var DefaultBrokerConfig = Resource{Type: BrokerResource}

// key orders resources by type, then name.
func (r Resource) key() string { return string(rune('0'+r.Type)) + r.Name }

func resourceOfKey(key string) Resource { return Resource{ResourceType(key[0] - '0'), key[1:]} }

func compareResources(a, b Resource) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
}

// Setting is one explicit value.
type Setting struct{ Name, Value string }

// Settings are the explicit values of one resource in order of name; immutable.
type Settings []Setting

// Get is the explicit value of a setting.
func (s Settings) Get(name string) (value string, ok bool) {
	i, ok := s.find(name)
	if !ok {
		return "", false
	}
	return s[i].Value, true
}

// Values is a copy as package config takes it.
func (s Settings) Values() config.Values {
	v := make(config.Values, len(s))
	for _, e := range s {
		v[e.Name] = e.Value
	}
	return v
}

func (s Settings) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s, name, func(e Setting, n string) int { return cmp.Compare(e.Name, n) })
}

// with is a copy with one setting replaced.
func (s Settings) with(name, value string) Settings {
	i, ok := s.find(name)
	if ok {
		s = slices.Clone(s)
		s[i].Value = value
		return s
	}
	return slices.Insert(slices.Clone(s), i, Setting{name, value})
}

// without is a copy with one setting removed.
func (s Settings) without(name string) Settings {
	i, ok := s.find(name)
	if !ok {
		return s
	}
	return slices.Delete(slices.Clone(s), i, i+1)
}
