package topic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/fact"
)

var (
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	idA   = kafka.TopicID{0xa}
	idB   = kafka.TopicID{0xb}
)

func ptr(n int32) *int32 { return &n }

// world is a Topic, its Cluster, and what is seen of both. The zero wish is Topic "t" without any wish.
func world(change ...func(*Snapshot)) Snapshot {
	s := Snapshot{
		Now: start,
		Topic: &v1alpha1.Topic{
			ObjectMeta: metav1.ObjectMeta{Name: "t", Namespace: "ns", Generation: 1, CreationTimestamp: metav1.NewTime(start)},
			Spec:       v1alpha1.TopicSpec{ClusterRef: v1alpha1.ClusterReference{Name: "c"}, DeletionPolicy: v1alpha1.Retain},
		},
		Cluster: &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns"}},
		Found:   fact.Known[*Found](nil),
		HeardAt: start,
		Brokers: fact.Known([]Broker{{ID: 0}, {ID: 1}, {ID: 2}}),
		Last:    Last{Generation: 1},
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

// exists is a topic with all replicas in sync, on brokers 0, 1, ...
func exists(partitions, replicas int, settings ...string) *Found {
	f := &Found{ID: idA, Settings: map[string]string{}}
	for range partitions {
		var all []int32
		for id := range replicas {
			all = append(all, int32(id))
		}
		f.Partitions = append(f.Partitions, Partition{Leader: 0, Replicas: all, ISR: all})
	}
	for _, kv := range settings {
		k, v, _ := strings.Cut(kv, "=")
		f.Settings[k] = v
	}
	return f
}

func found(f *Found) func(*Snapshot) { return func(s *Snapshot) { s.Found = fact.Known(f) } }

// settled is the world after the topic was found once and reported.
func settled(change ...func(*Snapshot)) Snapshot {
	s := world(change...)
	f, _ := s.Found.Get()
	if f == nil {
		panic("nothing to settle")
	}
	s.Topic.Status.TopicID = f.ID.String()
	s.Topic.Status = Compute(s).Status
	return s
}

func deleted(s *Snapshot) {
	now := metav1.NewTime(start)
	s.Topic.DeletionTimestamp = &now
	s.Topic.Spec.DeletionPolicy = v1alpha1.Delete
	s.Topic.Finalizers = []string{Finalizer}
}

func configured(settings ...string) func(*Snapshot) {
	return func(s *Snapshot) {
		s.Topic.Spec.Config = map[string]string{}
		for _, kv := range settings {
			k, v, _ := strings.Cut(kv, "=")
			s.Topic.Spec.Config[k] = v
		}
	}
}

func partitions(n int32) func(*Snapshot) {
	return func(s *Snapshot) { s.Topic.Spec.Partitions = &n }
}

func replicas(n int32) func(*Snapshot) {
	return func(s *Snapshot) { s.Topic.Spec.ReplicationFactor = &n }
}

// refused is the brokers' answer to the last plan.
func refused(action string, code kafka.ErrorCode, message string) func(*Snapshot) {
	return func(s *Snapshot) {
		s.Last.Refusal = &Refusal{Action: action, Code: code, Message: message}
		s.Last.Until = s.Now.Add(Retry)
	}
}

// show is the actions and Ready of a plan, one a line.
func show(p Plan) string {
	var b strings.Builder
	for _, a := range p.Actions {
		fmt.Fprintln(&b, a)
	}
	for _, c := range p.Status.Conditions {
		fmt.Fprintf(&b, "%s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	fmt.Fprintln(&b, "again in", p.LookAgain)
	return b.String()
}

// expect compares, and demands that planning is a function of the snapshot that changes nothing in it.
func expect(t *testing.T, what string, s Snapshot, want string) Plan {
	t.Helper()
	before := text(t, s)
	p := Compute(s)
	if got := show(p); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("%s:\n%swant%s", what, got, want)
	}
	if again := Compute(s); text(t, again) != text(t, p) {
		t.Errorf("%s: planned again it is\n%s", what, show(again))
	}
	if text(t, s) != before {
		t.Errorf("%s: planning changes the snapshot", what)
	}
	return p
}

func text(t *testing.T, v any) string {
	t.Helper()
	if s, ok := v.(Snapshot); ok {
		f, known := s.Found.Get()
		b, _ := s.Brokers.Get()
		v = []any{s.Now, s.Topic, s.Cluster, s.Rivals, f, known, b, s.Last}
	}
	if p, ok := v.(Plan); ok {
		v = []any{show(p), p.Status}
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func readyOf(p Plan) metav1.Condition {
	if c := conditions.Get(p.Status.Conditions, conditions.Ready); c != nil {
		return *c
	}
	return metav1.Condition{}
}
