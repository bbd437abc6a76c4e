package config

import "sort"

// Layers are the places where a setting may be given. The first that has it decides, in this order:
// the topic, the broker, all brokers, the broker's file; then the table's default.
type Layers struct {
	Topic   Values // set on the topic
	Broker  Values // altered for this one broker
	Default Values // altered for all brokers
	Static  Values // the broker's file
}

// Source is where a value comes from, with the numbers of DescribeConfigs.
type Source int8

// The sources that Fairlead knows.
const (
	SourceTopic         Source = 1
	SourceBroker        Source = 2
	SourceBrokerDefault Source = 3
	SourceStatic        Source = 4
	SourceTable         Source = 5
)

// Names lists the settings in ascending order.
func (v Values) Names() []string {
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Clone copies the settings; nil gives an empty map.
func (v Values) Clone() Values {
	c := make(Values, len(v))
	for name, value := range v {
		c[name] = value
	}
	return c
}

// found is a value with the setting and the place that gave it.
type found struct {
	def    *Def
	value  string
	source Source
}

// brokerChain lists every value that the broker layers give a setting, the deciding one first, its default last.
func (l Layers) brokerChain(d *Def) []found {
	var chain []found
	for _, layer := range []struct {
		values Values
		source Source
	}{{l.Broker, SourceBroker}, {l.Default, SourceBrokerDefault}, {l.Static, SourceStatic}} {
		if v, ok := layer.values[d.Name]; ok {
			chain = append(chain, found{def: d, value: v, source: layer.source})
		}
	}
	if d.Default != nil {
		chain = append(chain, found{def: d, value: *d.Default, source: SourceTable})
	}
	return chain
}
