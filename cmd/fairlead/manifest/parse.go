package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Bounds of what is read, and of what the CRD allows.
const (
	maxFileBytes  = 4 << 20
	maxPartitions = 100_000
	maxReplicas   = 100
	maxSettings   = 100
)

const apiVersion = "fairlead.io/v1alpha1"

// metadataFields are those of Kubernetes that a file may have; only the name counts.
var metadataFields = []string{
	"name", "namespace", "labels", "annotations", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "finalizers", "ownerReferences",
}

// Read reads the topics of several files. A topic that is there twice is an error.
func Read(files []string) (topics []Topic, notes []Note, err error) {
	for _, file := range files {
		text, err := readFile(file)
		if err != nil {
			return nil, nil, fmt.Errorf("read manifest: %w", err)
		}
		t, n, err := Parse(file, text)
		if err != nil {
			return nil, nil, err
		}
		topics = append(topics, t...)
		for _, n := range n {
			if n.At.Field == "" || !slices.ContainsFunc(notes, func(o Note) bool { return o.What == n.What }) { // of fields once
				notes = append(notes, n)
			}
		}
	}
	first := map[string]Place{}
	for _, t := range topics {
		if at, there := first[t.Name]; there {
			return nil, nil, t.At.errorf("topic %s is described in %s too", t.Name, at)
		}
		first[t.Name] = t.At
	}
	return topics, notes, nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("%s: more than %d bytes", name, maxFileBytes)
	}
	return text, err
}

// Parse reads the documents of one file. Documents of other kinds are passed over with a note.
func Parse(file string, text []byte) (topics []Topic, notes []Note, err error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	for number := 1; ; number++ {
		at := Place{File: file, Document: number}
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return topics, notes, nil
		}
		if err != nil {
			return nil, nil, at.errorf("%s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
			continue
		}
		root := at.node(doc.Content[0], "")
		if root.null() {
			continue // an empty document
		}
		t, n, err := parseObject(root)
		if err != nil {
			return nil, nil, err
		}
		notes = append(notes, n...)
		if t != nil {
			topics = append(topics, *t)
		}
	}
}

// parseObject gives a Topic, or a note on what is none.
func parseObject(root node) (*Topic, []Note, error) {
	parts := map[string]node{}
	if err := root.fields(func(name string, value node) error {
		parts[name] = value
		return nil
	}); err != nil {
		return nil, nil, err
	}
	at := root.at
	version, err := required(at, parts, "apiVersion")
	if err != nil {
		return nil, nil, err
	}
	kind, err := required(at, parts, "kind")
	switch {
	case err != nil:
		return nil, nil, err
	case kind == "List" || kind == "TopicList":
		return nil, nil, parts["kind"].at.errorf("%s: give its items as documents of their own", kind)
	case kind != "Topic" || version != apiVersion && !strings.HasPrefix(version, "fairlead.io/"):
		return nil, []Note{{at, fmt.Sprintf("%s %s is passed over: only Topics of %s are applied", version, kind, apiVersion)}}, nil
	case version != apiVersion:
		return nil, nil, parts["apiVersion"].at.errorf("%s: want %s", version, apiVersion)
	}
	if err := root.fields(func(name string, value node) error {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "spec", "status"}, name) {
			return value.unknown()
		}
		return nil
	}); err != nil {
		return nil, nil, err
	}
	return parseTopic(at, parts)
}

func required(at Place, parts map[string]node, name string) (string, error) {
	n, there := parts[name]
	if !there {
		return "", at.field(name).errorf("is missing")
	}
	return n.text()
}

func parseTopic(at Place, parts map[string]node) (*Topic, []Note, error) {
	t := &Topic{At: at, Partitions: -1, Replicas: -1, Config: map[string]string{}}
	nameAt := at.field("metadata.name")
	if m, there := parts["metadata"]; there {
		if err := m.fields(func(name string, value node) (err error) {
			if !slices.Contains(metadataFields, name) {
				return value.unknown()
			}
			if name == "name" {
				nameAt = value.at
				t.Name, err = value.text()
			}
			return err
		}); err != nil {
			return nil, nil, err
		}
	}
	if t.Name == "" {
		return nil, nil, nameAt.errorf("is missing")
	}
	spec, there := parts["spec"]
	if !there || spec.null() {
		return nil, nil, at.field("spec").errorf("is missing")
	}
	var notes []Note
	t.lines = map[string]int{}
	err := spec.fields(func(name string, value node) (err error) {
		t.lines[value.at.Field] = value.at.Line
		switch name {
		case "topicName":
			nameAt = value.at
			t.Name, err = value.text()
		case "partitions":
			t.Partitions, err = value.number(maxPartitions)
		case "replicationFactor":
			t.Replicas, err = value.number(maxReplicas)
		case "config":
			err = t.parseConfig(value)
		case "clusterRef":
			notes = append(notes, Note{value.at, "says nothing here: topics go to the cluster that the file is applied to"})
		case "deletionPolicy":
			_, err = value.text()
		default:
			return value.unknown()
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if !kafka.ValidTopicName(t.Name) {
		return nil, nil, nameAt.errorf("%q: a topic's name is 1 to %d of a-z, A-Z, 0-9, '.', '_' and '-', and neither '.' nor '..'", t.Name, kafka.MaxTopicNameLength)
	}
	if refusal := config.ValidateTopic(t.Config, config.Layers{}); refusal != nil {
		return nil, nil, t.place("spec.config").errorf("%s", refusal.Message)
	}
	for _, e := range config.DescribeTopic(config.Layers{Topic: t.Config}) {
		if e.Source == config.SourceTopic && e.Value != nil {
			t.Config[e.Name] = *e.Value // as the brokers will describe it
		}
	}
	return t, notes, nil
}

// parseConfig reads settings. Each is judged by itself, so that its line is told.
func (t *Topic) parseConfig(n node) error {
	return n.fields(func(name string, value node) error {
		text, err := value.text()
		if err != nil {
			return err
		}
		d := config.TopicDef(name)
		if d == nil {
			return value.at.errorf("topics have no setting of this name")
		}
		if refusal := d.Check(text); refusal != nil {
			return value.at.errorf("%s", refusal.Message)
		}
		t.Config[name] = text
		if len(t.Config) > maxSettings {
			return n.at.errorf("more than %d settings", maxSettings)
		}
		return nil
	})
}
