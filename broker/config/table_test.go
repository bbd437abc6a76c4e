package config

import (
	"os"
	"strings"
	"testing"
)

// Every setting that Kafka 4.4 describes is in the table with its type, default, range and way of change.
func TestTableIsKafkas(t *testing.T) {
	data, err := os.ReadFile("testdata/kafka-4.4.txt")
	if err != nil {
		t.Fatal(err)
	}
	// Ranges that a plain word of the table does not say; what they demand is checked elsewhere or has no effect here.
	unsaid := map[string]bool{"non-empty list": true, "non-null string": true}
	listed := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		scope, name, kind, value, valid, update := f[0], f[1], f[2], f[3], f[4], f[5]
		listed[scope+" "+name] = true
		d := BrokerDef(name)
		if scope == "topic" {
			d = TopicDef(name)
		}
		if d == nil {
			t.Errorf("%s setting %s is missing", scope, name)
			continue
		}
		if d.Type.String() != kind {
			t.Errorf("%s: type %s, want %s", name, d.Type, kind)
		}
		if got := defaultText(d); got != value && value != "<required>" {
			t.Errorf("%s: default %q, want %q", name, got, value)
		}
		if got := ruleText(d); got != valid && !unsaid[valid] && !strings.HasPrefix(valid, "(case insensitive)") {
			t.Errorf("%s: range %q, want %q", name, got, valid)
		}
		if got := updateText(d); scope == "broker" && got != update {
			t.Errorf("%s: update mode %s, want %s", name, got, update)
		}
	}
	for _, d := range TopicDefs() {
		if !d.Internal && !listed["topic "+d.Name] {
			t.Errorf("topic setting %s is not one of Kafka's", d.Name)
		}
	}
	for _, d := range BrokerDefs() {
		if !d.Internal && !listed["broker "+d.Name] && !strings.HasPrefix(d.Name, "fairlead.") {
			t.Errorf("broker setting %s is not one of Kafka's", d.Name)
		}
	}
}

func defaultText(d *Def) string {
	if d.Default == nil {
		return "<null>"
	}
	return *d.Default
}

func ruleText(d *Def) string {
	if d.Valid == nil {
		return "-"
	}
	return d.Valid.String()
}

func updateText(d *Def) string { return d.Update.String() }

// The table is consistent in itself: sorted, unique, with valid defaults, known synonyms and a sentence each.
func TestTableIsConsistent(t *testing.T) {
	for _, rows := range [][]Def{TopicDefs(), BrokerDefs()} {
		for i := range rows {
			d := &rows[i]
			if i > 0 && rows[i-1].Name >= d.Name {
				t.Errorf("%s stands after %s", d.Name, rows[i-1].Name)
			}
			if d.Default != nil {
				if refusal := d.Check(*d.Default); refusal != nil {
					t.Errorf("default of %s: %s", d.Name, refusal.Message)
				}
			}
			if !strings.HasSuffix(d.Doc, ".") || strings.HasPrefix(d.Doc, d.Name) {
				t.Errorf("documentation of %s is no sentence: %q", d.Name, d.Doc)
			}
			for _, s := range d.Synonyms {
				if BrokerDef(s.Name) == nil || s.Unit < 1 {
					t.Errorf("%s: synonym %+v is no broker setting", d.Name, s)
				}
			}
		}
	}
}

// Settings that test suites pass at the start are served or ignored, never unknown.
func TestSettingsOfTestSuitesAreKnown(t *testing.T) {
	for _, name := range strings.Fields(`group.initial.rebalance.delay.ms auto.create.topics.enable num.partitions
		log.initial.task.delay.ms log.retention.check.interval.ms log.cleaner.backoff.ms log.segment.delete.delay.ms
		log.message.timestamp.type log.flush.offset.checkpoint.interval.ms replica.high.watermark.checkpoint.interval.ms
		metadata.max.idle.interval.ms offsets.topic.num.partitions offsets.topic.replication.factor broker.session.timeout.ms
		broker.heartbeat.interval.ms auto.leader.rebalance.enable leader.imbalance.check.interval.seconds`) {
		if BrokerDef(name) == nil {
			t.Errorf("%s is unknown", name)
		}
	}
}
