package config

import (
	"fmt"
	"strings"
	"testing"
)

// chain prints an entry as name=value source [synonym=value source ...].
func chain(entries []Entry, name string) string {
	show := func(v *string) string {
		if v == nil {
			return "null"
		}
		return *v
	}
	for _, e := range entries {
		if e.Name == name {
			var b strings.Builder
			fmt.Fprintf(&b, "%s %d", show(e.Value), e.Source)
			for _, s := range e.Synonyms {
				fmt.Fprintf(&b, " %s=%s %d", s.Name, show(s.Value), s.Source)
			}
			if e.ReadOnly {
				b.WriteString(" read-only")
			}
			if e.Sensitive {
				b.WriteString(" sensitive")
			}
			return b.String()
		}
	}
	return "absent"
}

// Value, source and synonyms are what Apache Kafka 4.4 described under the same settings.
func TestDescribeTopicAsKafka(t *testing.T) {
	altered := Layers{Broker: Values{"log.retention.ms": "7"}, Default: Values{"log.retention.ms": "70000"}}
	own := func(name, value string) Layers { return Layers{Topic: Values{name: value}} }
	withOwn := altered
	withOwn.Topic = Values{"retention.ms": "55"}
	for _, r := range []struct {
		l          Layers
		name, want string
	}{
		{Layers{}, "retention.ms", "604800000 5"},
		{own("retention.ms", "1234"), "retention.ms", "1234 1 retention.ms=1234 1"},
		{altered, "retention.ms", "7 2 log.retention.ms=7 2 log.retention.ms=70000 3 log.retention.hours=168 5"},
		{withOwn, "retention.ms", "55 1 retention.ms=55 1 log.retention.ms=7 2 log.retention.ms=70000 3 log.retention.hours=168 5"},
		{Layers{}, "compression.type", "producer 5 compression.type=producer 5"},
		{own("max.message.bytes", "+78"), "max.message.bytes", "78 1 max.message.bytes=78 1 message.max.bytes=1048588 5"},
		{own("preallocate", "TRUE"), "preallocate", "true 1 preallocate=true 1 log.preallocate=false 5"},
		{own("min.cleanable.dirty.ratio", ".5"), "min.cleanable.dirty.ratio", "0.5 1 min.cleanable.dirty.ratio=0.5 1 log.cleaner.min.cleanable.ratio=0.5 5"},
		{Layers{}, "flush.ms", "9223372036854775807 5"},
		{Layers{}, "segment.ms", "604800000 5"},
		{Layers{}, "leader.replication.throttled.replicas", " 5"},
		{Layers{}, "remote.copy.lag.ms", "0 5 log.remote.copy.lag.ms=0 5"},
		{Layers{}, "internal.segment.bytes", "absent"},
		{own("internal.segment.bytes", "5000"), "internal.segment.bytes", "5000 1 internal.segment.bytes=5000 1"},
	} {
		if got := chain(DescribeTopic(r.l), r.name); got != r.want {
			t.Errorf("%s under %+v: %q, want %q", r.name, r.l, got, r.want)
		}
	}
	if n := len(DescribeTopic(Layers{})); n != 37 {
		t.Errorf("%d topic settings are described, want Kafka's 37", n)
	}
}

func TestDescribeBrokerAsKafka(t *testing.T) {
	l := Layers{
		Static:  Values{"node.id": "0", "log.dirs": "/d", "controller.quorum.voters": "0@127.0.0.1:30092", "ssl.keystore.password": "p"},
		Broker:  Values{"log.retention.ms": "7", "no.such": "7", "leader.replication.throttled.rate": "100"},
		Default: Values{"log.retention.ms": "70000", "my.custom.x": "1"},
	}
	for name, want := range map[string]string{
		"node.id":                             "0 4 node.id=0 4 read-only",
		"log.dirs":                            "/d 4 log.dirs=/d 4 read-only",
		"controller.quorum.voters":            "0@127.0.0.1:30092 4 controller.quorum.voters=0@127.0.0.1:30092 4 controller.quorum.voters= 5 read-only",
		"log.retention.ms":                    "7 2 log.retention.ms=7 2 log.retention.ms=70000 3 log.retention.hours=168 5",
		"log.retention.minutes":               "null 5 read-only",
		"log.retention.hours":                 "168 5 log.retention.hours=168 5 read-only",
		"log.flush.interval.ms":               "null 5",
		"ssl.keystore.password":               "null 4 ssl.keystore.password=null 4 sensitive",
		"no.such":                             "null 2 no.such=null 2 read-only sensitive",
		"my.custom.x":                         "null 3 my.custom.x=null 3 read-only sensitive",
		"leader.replication.throttled.rate":   "100 2 leader.replication.throttled.rate=100 2",
		"log.initial.task.delay.ms":           "absent",
		"log.cleaner.io.max.bytes.per.second": "1.7976931348623157E308 5 log.cleaner.io.max.bytes.per.second=1.7976931348623157E308 5",
	} {
		if got := chain(DescribeBroker(l), name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	defaults := DescribeBrokerDefault(l.Default)
	if len(defaults) != 2 || chain(defaults, "log.retention.ms") != "70000 3 log.retention.ms=70000 3" ||
		chain(defaults, "my.custom.x") != "null 3 my.custom.x=null 3 read-only sensitive" {
		t.Errorf("defaults of all brokers: %+v", defaults)
	}
}

func TestCanonicalValuesAreThoseOfDescriptions(t *testing.T) {
	for _, r := range []struct{ name, text, want string }{
		{"preallocate", "TRUE", "true"},
		{"retention.ms", " 05 ", "5"},
		{"cleanup.policy", "compact, delete", "compact,delete"},
		{"min.cleanable.dirty.ratio", "0.50", "0.5"},
		{"retention.ms", "x", "x"},
		{"segment.bytes", "1", "1"}, // out of range
	} {
		if got := TopicDef(r.name).Canonical(r.text); got != r.want {
			t.Errorf("%s=%q is %q, want %q", r.name, r.text, got, r.want)
		}
	}
}
