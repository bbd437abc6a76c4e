package config

import (
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Code and message of each refusal are what Apache Kafka 4.4 answered to the same change.
func TestAlterTopicAnswersAsKafka(t *testing.T) {
	const throttled = "leader.replication.throttled.replicas"
	const throttledForm = " for configuration " + throttled + ": " + throttled + " must be the literal '*' or a list of replicas " +
		"in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."
	rows := []struct {
		op             Op
		name, value    string
		code           kafka.ErrorCode
		message, after string // after: value as described
	}{
		{Set, "cleanup.policy", "compactt", 40, "Invalid value compactt for configuration cleanup.policy: String must be one of: compact, delete", ""},
		{Set, "cleanup.policy", "", 0, "", ""},
		{Set, "cleanup.policy", " compact , delete ", 0, "", "compact,delete"},
		{Set, "cleanup.policy", "compact,,delete", 40, "Configuration 'cleanup.policy' values must not be empty.", ""},
		{Set, "cleanup.policy", "none,delete", 40, "Invalid value none for configuration cleanup.policy: String must be one of: compact, delete", ""},
		{Append, "cleanup.policy", "compact", 0, "", "delete,compact"},
		{Append, "cleanup.policy", "compactt", 40, "Invalid value compactt for configuration cleanup.policy: String must be one of: compact, delete", ""},
		{Subtract, "cleanup.policy", "delete", 0, "", ""},
		{Set, "compression.type", "SNAPPY", 40, "Invalid value SNAPPY for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer", ""},
		{Set, "max.message.bytes", "big", 40, "Invalid value big for configuration max.message.bytes: Not a number of type INT", ""},
		{Set, "max.message.bytes", "", 40, "Invalid value  for configuration max.message.bytes: Not a number of type INT", ""},
		{Set, "max.message.bytes", "3000000000", 40, "Invalid value 3000000000 for configuration max.message.bytes: Not a number of type INT", ""},
		{Set, "max.message.bytes", " 77 ", 0, "", "77"},
		{Set, "max.message.bytes", "+78", 0, "", "78"},
		{Set, "max.message.bytes", "-1", 40, "Invalid value -1 for configuration max.message.bytes: Value must be at least 0", ""},
		{Set, "retention.ms", "-2", 40, "Invalid value -2 for configuration retention.ms: Value must be at least -1", ""},
		{Set, "retention.ms", "99999999999999999999", 40, "Invalid value 99999999999999999999 for configuration retention.ms: Not a number of type LONG", ""},
		{Set, "retention.bytes", "-5", 0, "", "-5"},
		{Set, "min.insync.replicas", "0", 40, "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1", ""},
		{Set, "min.cleanable.dirty.ratio", "2", 40, "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1", ""},
		{Set, "min.cleanable.dirty.ratio", "x", 40, "Invalid value x for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE", ""},
		{Set, "min.cleanable.dirty.ratio", "5e-1", 0, "", "0.5"},
		{Set, "preallocate", "yes", 40, "Invalid value yes for configuration preallocate: Expected value to be either true or false", ""},
		{Set, "preallocate", "TRUE", 0, "", "true"},
		{Set, "no.such", "1", 40, "Unknown topic config name: no.such", ""},
		{Set, "", "1", 40, "Unknown topic config name: ", ""},
		{Append, "flush.ms", "1", 40, "Can't APPEND to key flush.ms because its type is not LIST.", ""},
		{Subtract, "flush.ms", "1", 40, "Can't SUBTRACT to key flush.ms because its type is not LIST.", ""},
		{Set, throttled, "x", 40, "Invalid value [x]" + throttledForm, ""},
		{Set, throttled, "*,0:1", 40, "Invalid value [*, 0:1]" + throttledForm, ""},
		{Set, throttled, "*", 0, "", "*"},
		{Append, throttled, "0:1", 0, "", "0:1"},
		{Set, throttled, "", 0, "", ""},
		{Set, "segment.bytes", "14", 40, "Invalid value 14 for configuration segment.bytes: Value must be at least 1048576", ""},
		{Set, "internal.segment.bytes", "5000", 0, "", "5000"},
		{Set, "segment.index.bytes", "3", 40, "Invalid value 3 for configuration segment.index.bytes: Value must be at least 4", ""},
		{Set, "segment.ms", "0", 40, "Invalid value 0 for configuration segment.ms: Value must be at least 1", ""},
		{Set, "compression.gzip.level", "0", 40, "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1", ""},
		{Set, "compression.lz4.level", "18", 40, "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17", ""},
		{Set, "compression.zstd.level", "-131073", 40, "Invalid value -131073 for configuration compression.zstd.level: Value must be at least -131072", ""},
		{Set, "message.timestamp.type", "createtime", 40, "Invalid value createtime for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime", ""},
		{Set, "max.compaction.lag.ms", "0", 40, "Invalid value 0 for configuration max.compaction.lag.ms: Value must be at least 1", ""},
		{Set, "remote.storage.enable", "true", 40, "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.", ""},
		{Set, "message.format.version", "2.0", 40, "Unknown topic config name: message.format.version", ""},
		{Delete, "retention.ms", "", 0, "", "604800000"},
		{9, "flush.ms", "1", -1, "Unknown operation on config key flush.ms", ""},
	}
	for _, r := range rows {
		current := Values{"retention.ms": "1000"}
		next, refusal := AlterTopic(current, Layers{}, []Change{{Name: r.name, Op: r.op, Value: &r.value}})
		if r.code != 0 {
			if refusal == nil || refusal.Code != r.code || refusal.Message != r.message {
				t.Errorf("op %d of %s to %q: %+v, want %d %q", r.op, r.name, r.value, refusal, r.code, r.message)
			}
			continue
		}
		if refusal != nil {
			t.Errorf("op %d of %s to %q: refused: %s", r.op, r.name, r.value, refusal.Message)
			continue
		}
		if got := described(DescribeTopic(Layers{Topic: next}), r.name); got == nil || *got != r.after {
			t.Errorf("op %d of %s to %q: described as %v, want %q", r.op, r.name, r.value, got, r.after)
		}
		if current["retention.ms"] != "1000" || len(current) != 1 {
			t.Fatalf("op %d of %s changed the current values: %v", r.op, r.name, current)
		}
	}
}

func described(entries []Entry, name string) *string {
	for _, e := range entries {
		if e.Name == name {
			return e.Value
		}
	}
	return nil
}

func TestAlterRefusesTheWholeRequest(t *testing.T) {
	set := func(name, value string) Change { return Change{Name: name, Op: Set, Value: &value} }
	for _, r := range []struct {
		changes []Change
		code    kafka.ErrorCode
		message string
	}{
		{[]Change{set("flush.ms", "7"), set("flush.ms", "8")}, 42, "Error due to duplicate config keys"},
		{[]Change{{Name: "flush.ms", Op: Set}}, 42, "Null value not supported for : flush.ms"},
		{[]Change{set("retention.ms", "5"), set("segment.ms", "x")}, 40, "Invalid value x for configuration segment.ms: Not a number of type LONG"},
		{[]Change{set("max.compaction.lag.ms", "100"), set("min.compaction.lag.ms", "200")}, 40,
			"conflict topic config setting min.compaction.lag.ms (200) > max.compaction.lag.ms (100)"},
	} {
		if next, refusal := AlterTopic(nil, Layers{}, r.changes); next != nil || refusal == nil || refusal.Code != r.code || refusal.Message != r.message {
			t.Errorf("%v: %v %+v, want %d %q", r.changes, next, refusal, r.code, r.message)
		}
	}
}

func TestAlterBrokerAnswersAsKafka(t *testing.T) {
	for _, r := range []struct {
		scope       Scope
		op          Op
		name, value string
		code        kafka.ErrorCode
		message     string
	}{
		{OneBroker, Set, "node.id", "7", 42, "Cannot update these configs dynamically: [node.id]"},
		{OneBroker, Set, "auto.create.topics.enable", "false", 42, "Cannot update these configs dynamically: [auto.create.topics.enable]"},
		{OneBroker, Set, "log.retention.ms", "7", 0, ""},
		{AllBrokers, Set, "log.retention.ms", "x", 42, "Invalid value x for configuration log.retention.ms: Not a number of type LONG"},
		{OneBroker, Set, "no.such", "7", 0, ""},
		{AllBrokers, Set, "listeners", "PLAINTEXT://:1", 42, "Cannot update these configs at default cluster level, broker id must be specified: [listeners]"},
		{OneBroker, Set, "leader.replication.throttled.rate", "-1", 42, "Invalid value -1 for configuration leader.replication.throttled.rate: Value must be at least 0"},
		{AllBrokers, Set, "message.max.bytes", "-1", 42, "Invalid value -1 for configuration message.max.bytes: Value must be at least 0"},
		{AllBrokers, Append, "log.cleanup.policy", "compact", 0, ""},
		{OneBroker, Append, "log.cleaner.threads", "2", 40, "Config value append is not allowed for config key: log.cleaner.threads"},
		{OneBroker, Subtract, "log.cleaner.threads", "2", 40, "Config value subtract is not allowed for config key: log.cleaner.threads"},
		{OneBroker, Append, "no.such", "2", 40, "Config value append is not allowed for config key: no.such"},
	} {
		_, refusal := AlterBroker(r.scope, nil, []Change{{Name: r.name, Op: r.op, Value: &r.value}})
		switch {
		case r.code == 0 && refusal != nil:
			t.Errorf("op %d of %s to %q: refused: %s", r.op, r.name, r.value, refusal.Message)
		case r.code != 0 && (refusal == nil || refusal.Code != r.code || refusal.Message != r.message):
			t.Errorf("op %d of %s to %q: %+v, want %d %q", r.op, r.name, r.value, refusal, r.code, r.message)
		}
	}
}

func TestEditList(t *testing.T) {
	f := func(op Op, now, items, want string) {
		t.Helper()
		if got := editList(op, now, items); got != want {
			t.Errorf("op %d on %q with %q = %q, want %q", op, now, items, got, want)
		}
	}
	f(Append, "", "a", "a")
	f(Append, "a,b", "b,c,c", "a,b,c")
	f(Append, "a,a", "a", "a,a")
	f(Subtract, "a,b,a", "a", "b,a")
	f(Subtract, "a,b,a", "a,x,a", "b")
	f(Subtract, "a", "a", "")
}

// A list as long as a request can carry is edited in time that grows with its length: were it with its square, this would take hours.
func TestLongListsAreEdited(t *testing.T) {
	var b strings.Builder
	for i := range 1_000_000 {
		b.WriteString(strconv.Itoa(i))
		b.WriteByte(',')
	}
	all := b.String()[:b.Len()-1]
	if got := editList(Append, "x", all); got != "x,"+all {
		t.Errorf("appended: %d bytes, want %d", len(got), len(all)+2)
	}
	if got := editList(Subtract, all+",x", all); got != "x" {
		t.Errorf("subtracted: %d bytes are left", len(got))
	}
}
