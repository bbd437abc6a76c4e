package manifest

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const head = "apiVersion: fairlead.io/v1alpha1\nkind: Topic\nmetadata: {name: t}\n" // three lines

func TestParse(t *testing.T) {
	topics, notes, err := Parse("f.yaml", []byte(`# two documents, and what is none of ours
---
---
apiVersion: v1
kind: ConfigMap
data: {a: b}
---
`+head+`spec:
  clusterRef: {name: demo}
  topicName: Orders.V1
  partitions: 6
  replicationFactor: 3
  deletionPolicy: Delete
  config:
    retention.ms: &day "86400000"
    segment.ms: *day
    cleanup.policy: "compact, delete"
status: {partitions: 1}
---
apiVersion: fairlead.io/v1alpha1
kind: Topic
metadata: {name: plain, namespace: n, labels: {}}
spec: {}
`))
	if err != nil {
		t.Fatal(err)
	}
	for i := range topics {
		topics[i].lines = nil
	}
	want := []Topic{
		{At: Place{File: "f.yaml", Document: topics[0].At.Document, Line: 8}, Name: "Orders.V1", Partitions: 6, Replicas: 3,
			Config: map[string]string{"retention.ms": "86400000", "segment.ms": "86400000", "cleanup.policy": "compact,delete"}},
		{At: Place{File: "f.yaml", Document: topics[0].At.Document + 1, Line: 23}, Name: "plain", Partitions: -1, Replicas: -1, Config: map[string]string{}},
	}
	if !reflect.DeepEqual(topics, want) {
		t.Errorf("got  %+v\nwant %+v", topics, want)
	}
	if len(notes) != 2 || !strings.Contains(notes[0].String(), "v1 ConfigMap is passed over") || !strings.Contains(notes[1].String(), "line 12: spec.clusterRef: says nothing here") {
		t.Errorf("%v", notes)
	}
}

func TestParseRefuses(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, _, err := Parse("f", []byte(text))
		if err == nil || err.Error() != "f: document 1, "+want || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n got  %v\n want f: document 1, %s", text, err, want)
		}
	}
	f("kind: Topic", "line 1: apiVersion: is missing")
	f("apiVersion: fairlead.io/v1alpha1", "line 1: kind: is missing")
	f("- a", "line 1: want fields, got a list")
	f("apiVersion: fairlead.io/v2\nkind: Topic", "line 1: apiVersion: fairlead.io/v2: want fairlead.io/v1alpha1")
	f("apiVersion: v1\nkind: List\nitems: []", "line 2: kind: List: give its items as documents of their own")
	f(head, "line 1: spec: is missing")
	f(head+"spec:", "line 1: spec: is missing")
	f("apiVersion: fairlead.io/v1alpha1\nkind: Topic\nmetadata: {}\nspec: {}", "line 1: metadata.name: is missing")
	f("apiVersion: fairlead.io/v1alpha1\nkind: Topic\nmetadata: {name: t, title: t}\nspec: {}", "line 3: metadata.title: unknown field")
	f(head+"spec: {}\nspce: {}", "line 5: spce: unknown field")
	f(head+"spec:\n  partition: 3", "line 5: spec.partition: unknown field")
	f(head+"spec:\n  partitions: 3\n  partitions: 4", "line 6: spec.partitions: is there twice")
	f(head+"spec:\n  partitions: \"3\"", `line 5: spec.partitions: want a whole number, got the string "3"`)
	f(head+"spec:\n  partitions: 3.5", `line 5: spec.partitions: want a whole number, got the number "3.5"`)
	f(head+"spec:\n  partitions: 0", "line 5: spec.partitions: 0: want 1 to 100000")
	f(head+"spec:\n  partitions: 100001", "line 5: spec.partitions: 100001: want 1 to 100000")
	f(head+"spec:\n  replicationFactor: 101", "line 5: spec.replicationFactor: 101: want 1 to 100")
	f(head+"spec:\n  topicName: a/b", `line 5: spec.topicName: "a/b": a topic's name is 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-', and neither '.' nor '..'`)
	f(head+"spec:\n  config: [a]", "line 5: spec.config: want fields, got a list")
	f(head+"spec:\n  config:\n    retention.ms: 1000", `line 6: spec.config.retention.ms: want a string, got the number "1000": put it in quotes, "1000"`)
	f(head+"spec:\n  config:\n    retention.ms:", "line 6: spec.config.retention.ms: want a string, got nothing")
	f(head+"spec:\n  config:\n    retention.ms: soon", "line 6: spec.config.retention.ms: Invalid value soon for configuration retention.ms: Not a number of type LONG")
	f(head+"spec:\n  config:\n    retention.hours: \"1\"", "line 6: spec.config.retention.hours: topics have no setting of this name")
	f(head+"spec:\n  config:\n    min.compaction.lag.ms: \"2\"\n    max.compaction.lag.ms: \"1\"",
		"line 5: spec.config: conflict topic config setting min.compaction.lag.ms (2) > max.compaction.lag.ms (1)")
	if _, _, err := Parse("f", []byte("a: [")); err == nil || !strings.HasPrefix(err.Error(), "f: document 1: ") {
		t.Errorf("%v", err)
	}
}

func TestReadRefusesATopicThatIsThereTwice(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b := write("a", head+"spec: {topicName: x}"), write("b", head+"spec: {clusterRef: {name: c}, topicName: x}\n---\n"+head+"spec: {clusterRef: {name: c}}")
	if _, _, err := Read([]string{a, b}); err == nil || err.Error() != b+": document 1, line 1: topic x is described in "+a+": document 1, line 1 too" {
		t.Errorf("%v", err)
	}
	if topics, notes, err := Read([]string{b}); err != nil || len(topics) != 2 || len(notes) != 1 {
		t.Errorf("%v, %v, %v: want one note for all cluster references", topics, notes, err)
	}
	if _, _, err := Read([]string{filepath.Join(dir, "none")}); err == nil || !strings.HasPrefix(err.Error(), "read manifest: open ") {
		t.Errorf("%v", err)
	}
	for size, ok := range map[int]bool{maxFileBytes: true, maxFileBytes + 1: false} {
		if _, _, err := Read([]string{write("large", "#"+strings.Repeat("x", size-1))}); (err == nil) != ok {
			t.Errorf("a file of %d bytes: %v", size, err)
		}
	}
}

// Every field that the CRD has is known here, and no other.
func TestFieldsAreTheCRDs(t *testing.T) {
	text, err := os.ReadFile("../../../config/crd/bases/fairlead.io_topics.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema struct {
						Properties map[string]struct{ Properties map[string]any }
					} `yaml:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	v := crd.Spec.Versions[0]
	fields := v.Schema.OpenAPIV3Schema.Properties["spec"].Properties
	if "fairlead.io/"+v.Name != apiVersion || len(fields) < 6 {
		t.Fatalf("version %s with %d fields", v.Name, len(fields))
	}
	for name := range fields {
		if _, _, err := Parse("f", []byte(head+"spec: {"+name+": [x]}")); err != nil && strings.Contains(err.Error(), "unknown field") {
			t.Errorf("the CRD has spec.%s: %v", name, err)
		}
	}
	for _, name := range []string{"topicName", "partitions", "replicationFactor", "config", "clusterRef", "deletionPolicy"} {
		if _, there := fields[name]; !there {
			t.Errorf("spec.%s is none of the CRD's", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(head + "spec: {partitions: 3, config: {retention.ms: \"1\"}}"))
	f.Add([]byte("a: &a [*a]\n---\nb: *a"))
	f.Add([]byte("a: &a {b: *a}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		topics, _, err := Parse("f", text)
		if err != nil && len(topics) > 0 {
			t.Error("topics beside an error")
		}
		for _, topic := range topics {
			if topic.Name == "" || topic.Partitions == 0 || topic.Replicas == 0 || topic.Config == nil {
				t.Errorf("%+v", topic)
			}
		}
	})
}
