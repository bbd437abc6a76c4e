package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
	"github.com/fairlead-io/fairlead/controllers/catalogue"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/plan/topic"
	"github.com/fairlead-io/fairlead/test/control"
	"github.com/fairlead-io/fairlead/test/kubetest"
)

// idleEnv is how long the tests of quiet watch, as a duration; short by default.
const idleEnv = "FAIRLEAD_IDLE"

// topicStage is a real API server, real brokers and the controller of Topics between them.
type topicStage struct {
	*testing.T
	kube    client.WithWatch
	ns      string
	calls   kubetest.Calls    // the operator's
	address map[string]string // of brokers, by Cluster
	clients *brokerclient.Clients
	options Options
	stop    func()
}

// programDir has the brokers' program, once a test needs it; TestMain removes it.
var programDir string

// program builds the brokers' program once.
var program = sync.OnceValues(func() (_ string, err error) {
	if programDir, err = os.MkdirTemp("", "fairlead-program-"); err != nil {
		return "", err
	}
	return control.Build(kubetest.Root(), programDir)
})

// startBrokers starts the brokers of one cluster.
func startBrokers(t *testing.T, brokers int, settings map[string]string) *control.Cluster {
	t.Helper()
	command, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cl, err := control.Up(command, "", control.Options{Brokers: brokers, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cl.Down(); err != nil {
			t.Error(err)
		}
	})
	return cl
}

// newTopicStage has the Clusters that addresses names. hurry divides all waits of the controller.
func newTopicStage(t *testing.T, hurry time.Duration, address map[string]string) *topicStage {
	t.Helper()
	cfg := kubetest.Server(t)
	s := &topicStage{T: t, kube: kubetest.Client(t, cfg), address: address, clients: brokerclient.NewClients()}
	t.Cleanup(s.clients.Close)
	s.ns = kubetest.Namespace(t, s.kube)
	for _, name := range slices.Sorted(maps.Keys(address)) {
		s.cluster(name)
	}
	s.options = Options{
		wait: func(d time.Duration) time.Duration { return apart(d) / hurry },
		Brokers: &Brokers{Topics: func(c *v1alpha1.Cluster) (catalogue.Brokers, error) {
			return s.clients.Of(string(c.UID), s.address[c.Name])
		}},
	}
	s.operator()
	return s
}

// operator starts the operator, again after stop was called.
func (s *topicStage) operator() {
	s.Helper()
	skip := true
	m, err := manager.New(s.calls.Record(kubetest.Server(s)), manager.Options{
		Scheme:     NewScheme(),
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{s.ns: {}}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		s.Fatal(err)
	}
	if err := addTopics(m, s.options); err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	var once sync.Once
	s.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				s.Errorf("operator: %v", err)
			}
		})
	}
	s.Cleanup(s.stop)
}

func (s *topicStage) cluster(name string) {
	s.Helper()
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns}}
	c.Spec.Replicas = 1
	c.Spec.Storage.Size.Set(1 << 30)
	if err := s.kube.Create(s.Context(), c); err != nil {
		s.Fatal(err)
	}
}

// make makes a Topic of a Cluster.
func (s *topicStage) make(name, cluster string, change ...func(*v1alpha1.TopicSpec)) error {
	t := &v1alpha1.Topic{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns}}
	t.Spec.ClusterRef.Name = cluster
	for _, f := range change {
		f(&t.Spec)
	}
	return s.kube.Create(s.Context(), t)
}

func (s *topicStage) topic(name, cluster string, change ...func(*v1alpha1.TopicSpec)) {
	s.Helper()
	if err := s.make(name, cluster, change...); err != nil {
		s.Fatal(err)
	}
}

func (s *topicStage) get(name string) *v1alpha1.Topic {
	s.Helper()
	t := &v1alpha1.Topic{}
	if err := s.kube.Get(s.Context(), client.ObjectKey{Namespace: s.ns, Name: name}, t); err != nil {
		s.Fatal(err)
	}
	return t
}

func (s *topicStage) edit(name string, change func(*v1alpha1.TopicSpec)) error {
	s.Helper()
	t := s.get(name)
	before := t.DeepCopy()
	change(&t.Spec)
	return s.kube.Patch(s.Context(), t, client.MergeFrom(before))
}

func (s *topicStage) remove(o client.Object) {
	s.Helper()
	o.SetNamespace(s.ns)
	if err := s.kube.Delete(s.Context(), o); err != nil {
		s.Fatal(err)
	}
}

func named(name string) *v1alpha1.Topic {
	return &v1alpha1.Topic{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// stageLimit bounds the wait for one thing.
const stageLimit = 2 * time.Minute

// awaitReady waits until Ready of a Topic is so, for its present spec: "True Applied".
func (s *topicStage) awaitReady(name, want string) metav1.Condition {
	s.Helper()
	var c metav1.Condition
	kubetest.Await(s, stageLimit, func() error {
		t := s.get(name)
		r := conditions.Get(t.Status.Conditions, conditions.Ready)
		if r == nil || r.ObservedGeneration != t.Generation || string(r.Status)+" "+r.Reason != want {
			return fmt.Errorf("topic %s: %+v, want %s", name, t.Status, want)
		}
		c = *r
		return nil
	})
	return c
}

func (s *topicStage) awaitGone(name string) {
	s.Helper()
	kubetest.Await(s, stageLimit, func() error {
		t := &v1alpha1.Topic{}
		err := s.kube.Get(s.Context(), client.ObjectKey{Namespace: s.ns, Name: name}, t)
		if err == nil {
			return fmt.Errorf("topic %s is there: %+v", name, t.Status.Conditions)
		}
		return client.IgnoreNotFound(err)
	})
}

// kafka is the cluster as brokers tell.
func (s *topicStage) kafka(cluster string) *brokerclient.Client {
	s.Helper()
	c, err := brokerclient.New(s.address[cluster])
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(c.Close)
	return c
}

// awaitTopics waits until exactly these topics exist.
func (s *topicStage) awaitTopics(k *brokerclient.Client, want ...string) map[string]brokerclient.Topic {
	s.Helper()
	var topics map[string]brokerclient.Topic
	kubetest.Await(s, stageLimit, func() error {
		var err error
		topics, err = k.Topics(s.Context())
		if err != nil {
			return err
		}
		for _, name := range want {
			if _, ok := topics[name]; !ok {
				return fmt.Errorf("there is no %s", name)
			}
		}
		if len(topics) != len(want) {
			return fmt.Errorf("%d topics, want %d", len(topics), len(want))
		}
		return nil
	})
	return topics
}

func TestC41NamesOfTopicsOnBrokers(t *testing.T) {
	kubetest.Server(t)
	s := newTopicStage(t, 1, map[string]string{"c": startBrokers(t, 1, nil).Bootstrap[0]})
	name := func(name string) func(*v1alpha1.TopicSpec) {
		return func(t *v1alpha1.TopicSpec) { t.TopicName = name }
	}
	long := strings.Repeat("a", 249)
	for object, topic := range map[string]string{"my-topic": "my_topic", "orders-v2": "Orders.V2", "schemas": "_schemas", "long": long} {
		s.topic(object, "c", name(topic))
	}
	s.topic("plain", "c")
	s.topic("own", "c", name("__consumer_offsets"))
	s.topic(strings.Repeat("b", 253), "c")
	for _, wrong := range []string{"a b", ".", ".."} {
		if err := s.make("bad", "c", name(wrong)); !apierrors.IsInvalid(err) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	for _, object := range []string{"my-topic", "orders-v2", "schemas", "long", "plain"} {
		s.awaitReady(object, "True Applied")
	}
	s.awaitReady("own", "False InternalTopic")
	s.awaitReady(strings.Repeat("b", 253), "False NameInvalid")
	s.awaitTopics(s.kafka("c"), "my_topic", "Orders.V2", "_schemas", long, "plain")
	if err := s.edit("my-topic", name("other")); !apierrors.IsInvalid(err) {
		t.Errorf("topicName changes: %v", err)
	}
}

func TestALifeOfATopicOnBrokers(t *testing.T) {
	kubetest.Server(t)
	s := newTopicStage(t, 10, map[string]string{"c": startBrokers(t, 3, nil).Bootstrap[0]})
	k, ctx := s.kafka("c"), t.Context()
	spec := func(partitions, replicas int32, settings map[string]string) func(*v1alpha1.TopicSpec) {
		return func(t *v1alpha1.TopicSpec) {
			t.Partitions, t.ReplicationFactor, t.Config = &partitions, &replicas, settings
		}
	}
	change := func(f func(*v1alpha1.TopicSpec)) {
		t.Helper()
		if err := s.edit("a", f); err != nil {
			t.Fatal(err)
		}
	}
	if errs, err := k.CreateTopics(ctx, []brokerclient.NewTopic{{Name: "a", Partitions: 2, Replicas: 1, Settings: map[string]string{"segment.ms": "70000"}}}); err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	s.topic("a", "c", spec(3, 1, map[string]string{"retention.ms": "5000"}))
	s.awaitReady("a", "True Applied")
	if st := s.get("a").Status; conditions.Get(st.Conditions, conditions.Adopted) == nil || st.Partitions != 3 {
		t.Errorf("adopted: %+v", st)
	}
	if own, err := k.TopicSettings(ctx, "a"); err != nil || !maps.Equal(own["a"], map[string]string{"retention.ms": "5000", "segment.ms": "70000"}) {
		t.Errorf("settings %v %v", own, err)
	}

	// C44: nothing of a wrong spec is applied, and the brokers' own words are shown.
	for _, wrong := range []struct {
		spec        func(*v1alpha1.TopicSpec)
		ready, says string
	}{
		{spec(1, 1, map[string]string{"retention.ms": "6000"}), "False CannotShrink", "partitions cannot be taken away"},
		{spec(5, 1, map[string]string{"min.insync.replicas": "x"}), "False ConfigInvalid", "Invalid value x for configuration min.insync.replicas"},
		{spec(5, 1, map[string]string{"unknown.key": "1"}), "False ConfigInvalid", "unknown.key"},
		{spec(5, 4, nil), "False NotEnoughBrokers", "the cluster has 3 brokers"},
	} {
		change(wrong.spec)
		if c := s.awaitReady("a", wrong.ready); !strings.Contains(c.Message, wrong.says) {
			t.Errorf("%s: message %q", wrong.ready, c.Message)
		}
		topics, err := k.Topics(ctx, "a")
		own, err2 := k.TopicSettings(ctx, "a")
		if err = errors.Join(err, err2); err != nil || len(topics["a"].Partitions) != 3 || own["a"]["retention.ms"] != "5000" {
			t.Errorf("%s: %d partitions, settings %v: %v", wrong.ready, len(topics["a"].Partitions), own["a"], err)
		}
	}

	for _, replicas := range []int32{3, 2} {
		change(spec(4, replicas, map[string]string{"retention.ms": "6000"}))
		s.awaitReady("a", "True Applied")
		topics, err := k.Topics(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		leaders := map[int32]int{}
		for n, p := range topics["a"].Partitions {
			leaders[p.Replicas[0]]++
			if len(p.Replicas) != int(replicas) {
				t.Errorf("partition %d of four has replicas %v, want %d", n, p.Replicas, replicas)
			}
		}
		if st := s.get("a").Status; st.ReplicationFactor != replicas || st.Partitions != 4 {
			t.Errorf("%+v", st)
		}
	}

	// By hand: deleted, and made anew.
	old := s.get("a").Status.TopicID
	if errs, err := k.DeleteTopics(ctx, []brokerclient.DoomedTopic{{Name: "a"}}); err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	kubetest.Await(t, stageLimit, func() error {
		topics, err := k.Topics(ctx, "a")
		st := s.get("a").Status
		if err == nil && (len(topics["a"].Partitions) != 4 || st.TopicID == old || st.TopicID != topics["a"].ID.String()) {
			err = fmt.Errorf("%+v, topics %+v", st, topics)
		}
		return err
	})
	s.awaitReady("a", "True Applied")

	if err := s.edit("a", func(t *v1alpha1.TopicSpec) { t.DeletionPolicy = v1alpha1.Delete }); err != nil {
		t.Fatal(err)
	}
	kubetest.Await(t, stageLimit, func() error {
		if f := s.get("a").Finalizers; len(f) != 1 || f[0] != topic.Finalizer {
			return fmt.Errorf("finalizers %v", f)
		}
		return nil
	})
	s.remove(named("a"))
	s.awaitGone("a")
	s.awaitTopics(k)
}

func TestC43DeletionsOnBrokers(t *testing.T) {
	kubetest.Server(t)
	brokers := startBrokers(t, 1, nil)
	guarded := startBrokers(t, 1, map[string]string{"delete.topic.enable": "false"})
	s := newTopicStage(t, 10, map[string]string{"c": brokers.Bootstrap[0], "guarded": guarded.Bootstrap[0]})
	k := s.kafka("c")
	for _, name := range []string{"kept", "d", "e", "f"} {
		s.topic(name, "c", deletable)
	}
	if err := s.edit("kept", func(t *v1alpha1.TopicSpec) { t.DeletionPolicy = v1alpha1.Retain }); err != nil {
		t.Fatal(err)
	}
	s.topic("g", "guarded", deletable)
	for _, name := range []string{"kept", "d", "e", "f", "g"} {
		s.awaitReady(name, "True Applied")
	}

	s.remove(named("g"))
	s.awaitReady("g", "False DeletionRefused")

	s.stop() // D: while there is no operator
	s.remove(named("d"))
	s.remove(named("kept"))
	s.operator()
	s.awaitGone("d")
	s.awaitGone("kept")
	s.awaitTopics(k, "kept", "e", "f")

	// E: the topic was deleted before its object.
	if errs, err := k.DeleteTopics(t.Context(), []brokerclient.DoomedTopic{{Name: "e"}}); err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	s.remove(named("e"))
	s.awaitGone("e")

	// F: no broker is there.
	if err := brokers.Kill(0); err != nil {
		t.Fatal(err)
	}
	s.remove(named("f"))
	s.awaitReady("f", "Unknown ClusterNotReady")
	if err := brokers.Start(0); err != nil {
		t.Fatal(err)
	}
	s.awaitGone("f")
	s.awaitTopics(k, "kept")

	// A, C: the Cluster goes with its Topics, and its brokers are gone already.
	if err := guarded.Kill(0); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		s.topic(fmt.Sprint("h", i), "guarded", deletable)
	}
	kubetest.Await(t, stageLimit, func() error {
		for i := range 5 {
			if t := s.get(fmt.Sprint("h", i)); len(t.Status.Conditions) == 0 {
				return fmt.Errorf("%s has no status", t.Name)
			}
		}
		return nil
	})
	for i := range 5 {
		s.remove(named(fmt.Sprint("h", i)))
	}
	s.remove(&v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "guarded"}})
	for i := range 5 {
		s.awaitGone(fmt.Sprint("h", i))
	}
	s.awaitGone("g")
}

// awaitApplied waits until a number of Topics are as their specs say.
func awaitApplied(t *testing.T, limit time.Duration, kube client.Client, ns string, topics int) {
	t.Helper()
	kubetest.Await(t, limit, func() error {
		var list v1alpha1.TopicList
		if err := kube.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
			return err
		}
		ready := 0
		for i := range list.Items {
			if conditions.Is(list.Items[i].Status.Conditions, conditions.Ready, conditions.Applied) {
				ready++
			}
		}
		if ready != topics {
			return fmt.Errorf("%d of %d topics are ready", ready, topics)
		}
		return nil
	})
}

// Five hundred Topics in one apply, beside a cluster that does not answer, with Topics of its own, and one Topic that can never be
// ready: they are all ready soon, and then nothing is written.
func TestC41C50FiveHundredTopics(t *testing.T) {
	kubetest.Server(t)
	const limit = 2 * time.Minute
	topics, deadTopics := 500, 100
	if testing.Short() {
		topics, deadTopics = 50, 70
	}
	idle := 5 * time.Second
	if text := os.Getenv(idleEnv); text != "" {
		var err error
		if idle, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	address := map[string]string{"c": startBrokers(t, 3, nil).Bootstrap[0], "dead": "127.0.0.1:1"}
	for i := range 2 {
		address[fmt.Sprint("other", i)] = startBrokers(t, 1, nil).Bootstrap[0]
	}
	s := newTopicStage(t, 1, address)
	for i := range deadTopics {
		s.topic(fmt.Sprint("dead", i), "dead")
	}
	s.topic("failing", "c", func(t *v1alpha1.TopicSpec) { t.Config = map[string]string{"retention.ms": "x"} })

	began := time.Now()
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < topics; i += 8 {
				cluster := "c"
				if i%10 < 2 {
					cluster = fmt.Sprint("other", i%10)
				}
				if err := s.make(fmt.Sprint("t", i), cluster, deletable); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	applied := time.Since(began)
	awaitApplied(t, limit-applied, s.kube, s.ns, topics)
	t.Logf("%d topics applied in %v, ready after %v", topics, applied.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	s.awaitReady("failing", "False ConfigInvalid")
	for i := range deadTopics {
		s.awaitReady(fmt.Sprint("dead", i), "Unknown ClusterNotReady")
	}
	existing := 0
	for _, cluster := range []string{"c", "other0", "other1"} {
		found, err := s.kafka(cluster).Topics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		existing += len(found)
	}
	if existing != topics {
		t.Errorf("%d topics exist, want %d", existing, topics)
	}

	if n := len(s.calls.Writes()); n < topics {
		t.Errorf("%d writes were counted, for %d topics", n, topics)
	}
	s.calls.Reset()
	select {
	case <-time.After(idle):
	case <-t.Context().Done():
	}
	calls := s.calls.All()
	if w := s.calls.Writes(); len(w) > 0 {
		t.Errorf("%d writes in %v without a reason: %v", len(w), idle, w[:min(len(w), 5)])
	}
	t.Logf("idle for %v: %d calls to the API server", idle, len(calls))
}
