package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
	"github.com/fairlead-io/fairlead/controllers/catalogue"
	"github.com/fairlead-io/fairlead/controllers/conditions"
)

// topicWorld is Topics, their Cluster "c" and its brokers, all in memory, and the reconciler with its queue. It lives in a bubble.
type topicWorld struct {
	t       *testing.T
	api     client.Client
	kafka   *memoryKafka
	topics  *topicReconciler
	due     map[types.NamespacedName]time.Time
	passes  map[types.NamespacedName]int
	writes  []string // to the API: "status t", "patch t"
	told    []string // events
	mu      sync.Mutex
	cluster *v1alpha1.Cluster
}

func newTopicWorld(t *testing.T) *topicWorld {
	w := &topicWorld{t: t, kafka: newMemoryKafka(), due: map[types.NamespacedName]time.Time{}, passes: map[types.NamespacedName]int{}}
	write := func(what string, o client.Object) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.writes = append(w.writes, what+" "+o.GetName())
	}
	w.api = fake.NewClientBuilder().WithScheme(NewScheme()).
		WithStatusSubresource(&v1alpha1.Topic{}, &v1alpha1.Cluster{}).
		WithIndex(&v1alpha1.Topic{}, topicsByCluster, func(o client.Object) []string { return []string{o.(*v1alpha1.Topic).Spec.ClusterRef.Name} }).
		WithIndex(&v1alpha1.Topic{}, topicsByTopic, func(o client.Object) []string { return []string{topicKey(o.(*v1alpha1.Topic))} }).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				write("patch", o)
				return c.Patch(ctx, o, p, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				write(sub, o)
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}).Build()
	w.start()
	w.cluster = &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "ns", UID: "uid-c"}}
	w.create(w.cluster)
	t.Cleanup(func() { w.topics.catalogues.Close() })
	return w
}

// start begins with an operator that remembers nothing.
func (w *topicWorld) start() {
	if w.topics != nil {
		w.topics.catalogues.Close()
	}
	w.topics = &topicReconciler{
		read: w.api, write: w.api, events: w, catalogues: catalogue.NewClusters(), memory: newTopicMemory(),
		brokers: func(*v1alpha1.Cluster) (catalogue.Brokers, error) { return w.kafka, nil },
		wake:    &waker{read: w.api}, now: time.Now, wait: apart,
	}
}

// Eventf takes an event.
func (w *topicWorld) Eventf(regarding, _ runtime.Object, _, reason, _, note string, args ...any) {
	w.told = append(w.told, regarding.(client.Object).GetName()+" "+reason+": "+fmt.Sprintf(note, args...))
}

func (w *topicWorld) create(o client.Object) {
	w.t.Helper()
	if o.GetUID() == "" {
		o.SetUID(types.UID("uid-" + o.GetName()))
	}
	if err := w.api.Create(context.Background(), o); err != nil {
		w.t.Fatal(err)
	}
	w.wakeup(o)
}

// wakeup makes a Topic due, as the change of it does.
func (w *topicWorld) wakeup(o client.Object) {
	if _, ok := o.(*v1alpha1.Topic); ok {
		w.due[client.ObjectKeyFromObject(o)] = time.Now()
	}
}

// topic makes a Topic.
func (w *topicWorld) topic(name string, change ...func(*v1alpha1.TopicSpec)) {
	w.t.Helper()
	t := &v1alpha1.Topic{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Generation: 1, CreationTimestamp: metav1.NewTime(time.Now())},
		Spec:       v1alpha1.TopicSpec{ClusterRef: v1alpha1.ClusterReference{Name: "c"}, DeletionPolicy: v1alpha1.Retain},
	}
	for _, f := range change {
		f(&t.Spec)
	}
	w.create(t)
}

// edit changes the spec of a Topic.
func (w *topicWorld) edit(name string, change func(*v1alpha1.TopicSpec)) {
	w.t.Helper()
	t := w.get(name)
	change(&t.Spec)
	t.Generation++
	if err := w.api.Update(context.Background(), t); err != nil {
		w.t.Fatal(err)
	}
	w.wakeup(t)
}

// remove deletes a Topic.
func (w *topicWorld) remove(name string) {
	w.t.Helper()
	t := w.get(name)
	if err := w.api.Delete(context.Background(), t); err != nil {
		w.t.Fatal(err)
	}
	w.wakeup(t)
}

func (w *topicWorld) get(name string) *v1alpha1.Topic {
	w.t.Helper()
	t := &v1alpha1.Topic{}
	if err := w.api.Get(context.Background(), types.NamespacedName{Namespace: "ns", Name: name}, t); err != nil {
		w.t.Fatal(err)
	}
	return t
}

// gone tells whether a Topic is no longer there.
func (w *topicWorld) gone(name string) bool {
	return client.IgnoreNotFound(w.api.Get(context.Background(), types.NamespacedName{Namespace: "ns", Name: name}, &v1alpha1.Topic{})) == nil &&
		w.api.Get(context.Background(), types.NamespacedName{Namespace: "ns", Name: name}, &v1alpha1.Topic{}) != nil
}

// pass lets time pass, and the reconciler work when Topics are due.
func (w *topicWorld) pass(d time.Duration) {
	w.t.Helper()
	end := time.Now().Add(d)
	for {
		var next types.NamespacedName
		at := end
		for _, key := range slices.SortedFunc(maps.Keys(w.due), func(a, b types.NamespacedName) int { return w.due[a].Compare(w.due[b]) })[:min(1, len(w.due))] {
			if w.due[key].Before(end) {
				next, at = key, w.due[key]
			}
		}
		time.Sleep(time.Until(at))
		if next.Name == "" {
			return
		}
		delete(w.due, next)
		w.passes[next]++
		res, err := w.topics.Reconcile(context.Background(), reconcile.Request{NamespacedName: next})
		if err != nil {
			w.t.Fatalf("%s: %v", next, err)
		}
		if res.RequeueAfter > 0 {
			w.due[next] = time.Now().Add(res.RequeueAfter)
		}
	}
}

// ready is the condition Ready of a Topic: "True Applied".
func (w *topicWorld) ready(name string) string {
	w.t.Helper()
	t := w.get(name)
	c := conditions.Get(t.Status.Conditions, conditions.Ready)
	if c == nil {
		return ""
	}
	if c.ObservedGeneration != t.Generation || t.Status.ObservedGeneration != t.Generation {
		return "old"
	}
	return string(c.Status) + " " + c.Reason
}

func (w *topicWorld) expectReady(what, name, want string) {
	w.t.Helper()
	if got := w.ready(name); got != want {
		w.t.Errorf("%s: %s is %q, want %q: %+v", what, name, got, want, w.get(name).Status.Conditions)
	}
}

// takeWrites gives the writes to the API since the last call.
func (w *topicWorld) takeWrites() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.writes
	w.writes = nil
	return out
}

// memoryKafka is a cluster of three brokers in memory.
type memoryKafka struct {
	mu       sync.Mutex
	topics   map[string]brokerclient.Topic
	settings map[string]map[string]string
	next     byte
	requests map[string]int // by kind
	down     bool           // nobody answers
	noDelete bool           // delete.topic.enable=false
}

func newMemoryKafka() *memoryKafka {
	return &memoryKafka{topics: map[string]brokerclient.Topic{}, settings: map[string]map[string]string{}, requests: map[string]int{}}
}

func (k *memoryKafka) request(ctx context.Context, kind string) error {
	k.mu.Lock()
	k.requests[kind]++
	down := k.down
	k.mu.Unlock()
	if !down {
		return nil
	}
	select {
	case <-time.After(15 * time.Second):
		return errors.New("connection refused")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// all is how many requests there were, by kind, since the last call.
func (k *memoryKafka) all() map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := k.requests
	k.requests = map[string]int{}
	return out
}

func (k *memoryKafka) set(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

func (k *memoryKafka) Topics(ctx context.Context, names ...string) (map[string]brokerclient.Topic, error) {
	if err := k.request(ctx, "topics"); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	out := maps.Clone(k.topics)
	maps.DeleteFunc(out, func(name string, _ brokerclient.Topic) bool { return names != nil && !slices.Contains(names, name) })
	return out, nil
}

func (k *memoryKafka) TopicSettings(ctx context.Context, names ...string) (map[string]map[string]string, error) {
	if err := k.request(ctx, "settings"); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[string]map[string]string{}
	for _, name := range names {
		if s, ok := k.settings[name]; ok {
			out[name] = maps.Clone(s)
		}
	}
	return out, nil
}

func (k *memoryKafka) Moves(ctx context.Context) (map[kafka.TopicPartition]brokerclient.Move, error) {
	return nil, k.request(ctx, "moves")
}

func (k *memoryKafka) Registered(ctx context.Context) ([]brokerclient.Broker, error) {
	return []brokerclient.Broker{{ID: 0}, {ID: 1}, {ID: 2}}, k.request(ctx, "brokers")
}

// eachTopic answers for each topic of a request.
func eachTopic[T any](k *memoryKafka, ctx context.Context, kind string, all []T, f func(T) error) ([]error, error) {
	if err := k.request(ctx, kind); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	out := make([]error, len(all))
	for i, t := range all {
		out[i] = f(t)
	}
	return out, nil
}

func (k *memoryKafka) judge(settings map[string]string) error {
	for name, value := range settings {
		if value == "x" {
			return &brokerclient.Refusal{Code: kafka.InvalidConfig, Message: "Invalid value x for configuration " + name}
		}
	}
	return nil
}

func partition() brokerclient.Partition {
	return brokerclient.Partition{Replicas: []int32{0}, ISR: []int32{0}}
}

func (k *memoryKafka) CreateTopics(ctx context.Context, all []brokerclient.NewTopic) ([]error, error) {
	return eachTopic(k, ctx, "create", all, func(t brokerclient.NewTopic) error {
		if _, ok := k.topics[t.Name]; ok {
			return &brokerclient.Refusal{Code: kafka.TopicAlreadyExists}
		}
		if err := k.judge(t.Settings); err != nil {
			return err
		}
		k.next++
		topic := brokerclient.Topic{Name: t.Name, ID: kafka.TopicID{k.next}}
		for range max(t.Partitions, 1) {
			topic.Partitions = append(topic.Partitions, partition())
		}
		k.topics[t.Name], k.settings[t.Name] = topic, maps.Clone(t.Settings)
		if t.Settings == nil {
			k.settings[t.Name] = map[string]string{}
		}
		return nil
	})
}

func (k *memoryKafka) DeleteTopics(ctx context.Context, all []brokerclient.DoomedTopic) ([]error, error) {
	return eachTopic(k, ctx, "delete", all, func(t brokerclient.DoomedTopic) error {
		have, ok := k.topics[t.Name]
		switch {
		case k.noDelete:
			return &brokerclient.Refusal{Code: kafka.TopicDeletionDisabled, Message: "Topic deletion is disabled."}
		case !t.ID.IsZero() && have.ID != t.ID:
			return &brokerclient.Refusal{Code: kafka.UnknownTopicID}
		case !ok:
			return &brokerclient.Refusal{Code: kafka.UnknownTopicOrPartition}
		}
		delete(k.topics, t.Name)
		delete(k.settings, t.Name)
		return nil
	})
}

func (k *memoryKafka) GrowTopics(ctx context.Context, p brokerclient.Purpose, all []brokerclient.Growth) ([]error, error) {
	return eachTopic(k, ctx, "grow", all, func(t brokerclient.Growth) error {
		have := k.topics[t.Name]
		if len(have.Partitions) >= int(t.Partitions) {
			return &brokerclient.Refusal{Code: kafka.InvalidPartitions}
		}
		for p == brokerclient.Apply && len(have.Partitions) < int(t.Partitions) {
			have.Partitions = append(slices.Clone(have.Partitions), partition())
		}
		k.topics[t.Name] = have
		return nil
	})
}

func (k *memoryKafka) AlterTopics(ctx context.Context, p brokerclient.Purpose, all []brokerclient.TopicChange) ([]error, error) {
	return eachTopic(k, ctx, "alter", all, func(t brokerclient.TopicChange) error {
		if err := k.judge(t.Set); err != nil || p == brokerclient.Validate {
			return err
		}
		maps.Copy(k.settings[t.Name], t.Set)
		for _, name := range t.Remove {
			delete(k.settings[t.Name], name)
		}
		return nil
	})
}

func (k *memoryKafka) ReassignTopics(ctx context.Context, all []brokerclient.Reassignment) ([]error, error) {
	return eachTopic(k, ctx, "reassign", all, func(t brokerclient.Reassignment) error {
		have := k.topics[t.Name]
		have.Partitions = slices.Clone(have.Partitions)
		for n, replicas := range t.Replicas {
			have.Partitions[n].Replicas, have.Partitions[n].ISR = replicas, replicas
		}
		k.topics[t.Name] = have
		return nil
	})
}
