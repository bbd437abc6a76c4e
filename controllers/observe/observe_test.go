package observe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
)

// world is what an observer of these tests sees. Objects that are not there are not found; what is refused is refused.
type world struct {
	mu       sync.Mutex
	pods     []corev1.Pod
	claims   []corev1.PersistentVolumeClaim
	nodes    map[string]*corev1.Node
	classes  []storagev1.StorageClass
	refusing error // of all reads of the API server itself
	broken   error // of all reads of the cache
	asked    []string

	readiness map[string]adminapi.Readiness // by URL
	settings  map[string]string
	topics    map[string]brokerclient.Topic
	minISR    map[string]int
	kafka     error
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, fmt.Sprintf(format, args...))
}

type cached struct{ *world }

func (c cached) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	if c.broken != nil {
		return c.broken
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (c cached) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch l := list.(type) {
	case *corev1.PodList:
		l.Items = c.pods
	case *corev1.PersistentVolumeClaimList:
		l.Items = c.claims
	}
	return c.broken
}

type live struct{ *world }

func (l live) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	l.note("node %s", key.Name)
	if l.refusing != nil {
		return l.refusing
	}
	n := l.nodes[key.Name]
	if n == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, key.Name)
	}
	n.DeepCopyInto(o.(*corev1.Node))
	return nil
}

func (l live) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	l.note("classes")
	list.(*storagev1.StorageClassList).Items = l.classes
	return l.refusing
}

func (w *world) Readiness(_ context.Context, url string) (adminapi.Readiness, error) {
	w.note("readiness %s", url)
	r, ok := w.readiness[url]
	if !ok {
		return r, errors.New("connection refused")
	}
	return r, nil
}

func (w *world) SafeToStop(_ context.Context, urls []string, ids []int32) (adminapi.Verdict, error) {
	w.note("verdict on %v of %v", ids, urls)
	return adminapi.Verdict{Brokers: ids, Safe: true}, nil
}

func (w *world) ClusterSettings(context.Context) (map[string]string, error) {
	return w.settings, w.kafka
}
func (w *world) Registered(context.Context) ([]brokerclient.Broker, error) {
	return []brokerclient.Broker{{ID: 0}, {ID: 2}}, w.kafka
}
func (w *world) Voters(context.Context) ([]int32, error) { return []int32{0, 1, 1}, w.kafka }
func (w *world) Topics(context.Context, ...string) (map[string]brokerclient.Topic, error) {
	return w.topics, w.kafka
}
func (w *world) MinISR(_ context.Context, topics ...string) (map[string]int, error) {
	w.note("min ISR of %v", topics)
	return w.minISR, w.kafka
}

var now = time.Unix(1000, 0)

func (w *world) observer() *Observer {
	return &Observer{
		Cached: cached{w}, Live: live{w}, Admin: w, Endpoint: PodEndpoint, Now: func() time.Time { return now },
		Kafka: func(*v1alpha1.Cluster) (Kafka, error) { return w, nil },
	}
}

func (w *world) see(t *testing.T, c *v1alpha1.Cluster) cluster.Snapshot {
	t.Helper()
	s, err := w.observer().Snapshot(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newCluster() *v1alpha1.Cluster {
	return &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}, Spec: v1alpha1.ClusterSpec{Replicas: 3, Storage: v1alpha1.Storage{Size: resource.MustParse("1Gi")}},
		Status: v1alpha1.ClusterStatus{Quorum: &v1alpha1.Quorum{ClusterID: "id"}}}
}

func pod(id int32, ready bool) corev1.Pod {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: desired.Pod("c", id)}, Spec: corev1.PodSpec{NodeName: fmt.Sprintf("n%d", id)},
		Status: corev1.PodStatus{PodIP: fmt.Sprintf("10.0.0.%d", id), Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}}}
}

func endpoint(id int32) string { return fmt.Sprintf("http://10.0.0.%d:9094", id) }

func TestPodEndpoint(t *testing.T) {
	p := pod(1, true)
	if got := PodEndpoint(&p); got != "http://10.0.0.1:9094" {
		t.Error(got)
	}
	if p.Status.PodIP = "fd00::1"; PodEndpoint(&p) != "http://[fd00::1]:9094" {
		t.Error(PodEndpoint(&p))
	}
	if p.Status.PodIP = ""; PodEndpoint(&p) != "" {
		t.Error(PodEndpoint(&p))
	}
}

// Only a broker's own answer is one.
func TestReadiness(t *testing.T) {
	ended, noAddress := pod(4, false), pod(5, false)
	ended.Status.Phase, noAddress.Status.PodIP = corev1.PodFailed, ""
	w := &world{pods: []corev1.Pod{pod(0, true), pod(1, true), pod(2, true), pod(3, true), ended, noAddress, {ObjectMeta: metav1.ObjectMeta{Name: "c-other"}}},
		readiness: map[string]adminapi.Readiness{
			endpoint(0): {NodeID: 0, ClusterID: "id"}, endpoint(1): {NodeID: 7, ClusterID: "id"}, endpoint(2): {NodeID: 2, ClusterID: "another"}, endpoint(4): {NodeID: 4},
		}}
	s := w.see(t, newCluster())
	want := map[int32]string{0: "", 1: "broker 7 answers", 2: "another cluster", 3: "connection refused", 4: "has ended", 5: "no address"}
	if len(s.Brokers) != len(want) {
		t.Errorf("%d brokers were asked, want %d", len(s.Brokers), len(want))
	}
	for id, why := range want {
		if f := s.Brokers[id]; f.Known() != (why == "") || !strings.Contains(f.Why(), why) {
			t.Errorf("broker %d: known %v, %q, want %q", id, f.Known(), f.Why(), why)
		}
	}
	if s.Settings.Why() != "no broker serves" || s.Metadata.Known() || s.Now != now || s.Fresh.ClusterID == "" || s.Fresh.DirectoryIDs[0] == s.Fresh.DirectoryIDs[1] {
		t.Errorf("settings %q, metadata %v, identities %+v", s.Settings.Why(), s.Metadata.Known(), s.Fresh)
	}
}

// Nodes are read of pods that are not ready or wait for their rack. Gone is known; refused is not.
func TestNodes(t *testing.T) {
	w := &world{pods: []corev1.Pod{pod(0, true), pod(1, false)}, nodes: map[string]*corev1.Node{"n0": {ObjectMeta: metav1.ObjectMeta{Name: "n0"}}}}
	c := newCluster()
	s := w.see(t, c)
	if n, known := s.Nodes["n1"].Get(); len(s.Nodes) != 1 || !known || n != nil {
		t.Errorf("nodes %v", s.Nodes)
	}
	c.Spec.Rack = &v1alpha1.Rack{}
	s = w.see(t, c)
	if n, known := s.Nodes["n0"].Get(); len(s.Nodes) != 2 || !known || n == nil {
		t.Errorf("nodes %v", s.Nodes)
	}
	w.pods[0].Annotations = map[string]string{desired.RackAnnotation: "z"}
	if s = w.see(t, c); len(s.Nodes) != 1 || s.Nodes["n0"].Known() {
		t.Errorf("nodes %v", s.Nodes)
	}
	delete(w.pods[0].Annotations, desired.RackAnnotation)
	w.refusing = apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "n0", errors.New("no"))
	s = w.see(t, c)
	if f := s.Nodes["n0"]; f.Known() || !strings.Contains(f.Why(), "no permission") {
		t.Errorf("node: known %v, %q", f.Known(), f.Why())
	}
	if f := s.StorageClasses; f.Known() || !strings.Contains(f.Why(), "no permission") {
		t.Errorf("classes: known %v, %q", f.Known(), f.Why())
	}
}

// An operator that keeps to namespaces does not ask for what it would not be given.
func TestOwnNamespaceOnly(t *testing.T) {
	w := &world{pods: []corev1.Pod{pod(0, false)}, refusing: errors.New("asked")}
	o := w.observer()
	o.OwnNamespaceOnly = true
	s, err := o.Snapshot(t.Context(), newCluster())
	if err != nil {
		t.Fatal(err)
	}
	if f, looked := s.Nodes["n0"]; !looked || f.Known() || f.Why() != notAsked {
		t.Errorf("node: known %v, %q", f.Known(), f.Why())
	}
	if f := s.StorageClasses; f.Known() || f.Why() != notAsked {
		t.Errorf("classes: known %v, %q", f.Known(), f.Why())
	}
}

// Partitions are counted, and settings are asked of those topics alone whose partitions lack replicas.
func TestMetadata(t *testing.T) {
	part := func(leader int32, replicas, isr []int32) brokerclient.Partition {
		return brokerclient.Partition{Leader: leader, Replicas: replicas, ISR: isr}
	}
	three := []int32{0, 1, 2}
	w := &world{pods: []corev1.Pod{pod(0, true)}, readiness: map[string]adminapi.Readiness{endpoint(0): {NodeID: 0, ClusterID: "id", Ready: true}},
		settings: map[string]string{"a": "b"}, minISR: map[string]int{"short": 2, "gone-since": 2},
		topics: map[string]brokerclient.Topic{
			"well":       {Partitions: []brokerclient.Partition{part(0, three, three)}},
			"short":      {Partitions: []brokerclient.Partition{part(0, three, three[:2]), part(0, three, three[:1]), part(-1, three, nil)}},
			"unanswered": {Partitions: []brokerclient.Partition{part(-1, three, nil)}},
		}}
	s := w.see(t, newCluster())
	m, known := s.Metadata.Get()
	if !known {
		t.Fatal(s.Metadata.Why())
	}
	if !slices.Contains(w.asked, "min ISR of [short unanswered]") {
		t.Errorf("asked: %q", w.asked)
	}
	want := cluster.Metadata{Registered: []int32{0, 2}, Voters: []int32{0, 1}, Replicas: map[int32]int{0: 5, 1: 5, 2: 5}, Partitions: 5,
		Offline: 2, UnderMinISR: 2, UnderReplicated: 4, OfflineExamples: []string{"short-2", "unanswered-0"}, UnderMinISRExamples: []string{"short-1", "short-2"},
		UnderReplicatedExamples: []string{"short-0", "short-1", "short-2"}}
	if fmt.Sprint(m) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
	if all, known := s.Settings.Get(); !known || !maps.Equal(all, w.settings) {
		t.Errorf("settings %v", all)
	}
	w.kafka = errors.New("timed out")
	s = w.see(t, newCluster())
	if s.Metadata.Why() != "timed out" || s.Settings.Why() != "timed out" {
		t.Errorf("%q %q", s.Metadata.Why(), s.Settings.Why())
	}
}

// Storage classes are read when a volume is to be made or to grow, and not while nothing is to be done.
func TestStorageClasses(t *testing.T) {
	claim := func(id int32, request, capacity string) corev1.PersistentVolumeClaim {
		c := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: desired.Claim("c", id)}}
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(request)}
		c.Status.Phase, c.Status.Capacity = corev1.ClaimBound, corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(capacity)}
		return c
	}
	w, c := &world{}, newCluster()
	c.Spec.Replicas = 1
	o := w.observer()
	s := cluster.Snapshot{Cluster: c}
	if !o.storageClasses(t.Context(), s).Known() {
		t.Error("not read for a first volume")
	}
	for _, r := range []struct {
		request, capacity string
		read              bool
	}{{"1Gi", "1Gi", false}, {"2Gi", "2Gi", false}, {"512Mi", "512Mi", true}, {"1Gi", "512Mi", true}} {
		s.Objects.StatefulSet = &appsv1.StatefulSet{}
		s.Claims = []corev1.PersistentVolumeClaim{claim(0, r.request, r.capacity)}
		if got := o.storageClasses(t.Context(), s).Known(); got != r.read {
			t.Errorf("request %s, capacity %s: read %v", r.request, r.capacity, got)
		}
	}
}

// Without the objects of the namespace there is no snapshot: what cannot be read must not look as if it were not there.
func TestACacheThatFails(t *testing.T) {
	w := &world{broken: errors.New("the cache is closed")}
	if _, err := w.observer().Snapshot(t.Context(), newCluster()); err == nil || !strings.Contains(err.Error(), "the cache is closed") {
		t.Error(err)
	}
}

// Of a Cluster that goes nobody is asked.
func TestAClusterThatGoes(t *testing.T) {
	w, c := &world{pods: []corev1.Pod{pod(0, false)}}, newCluster()
	c.DeletionTimestamp = &metav1.Time{Time: now}
	if s := w.see(t, c); len(w.asked) > 0 || s.Metadata.Known() || len(s.Pods) != 1 {
		t.Errorf("asked: %q", w.asked)
	}
}

// Answers come in the order of the questions, and no more of them are under way than is allowed.
func TestInParallel(t *testing.T) {
	var mu sync.Mutex
	under, most := 0, 0
	items := make([]int, 100)
	for i := range items {
		items[i] = i
	}
	answers := inParallel(items, func(i int) int {
		mu.Lock()
		under++
		most = max(most, under)
		mu.Unlock()
		defer func() { mu.Lock(); under--; mu.Unlock() }()
		return 2 * i
	})
	for i, a := range answers {
		if a != 2*i {
			t.Errorf("answer %d is %d", i, a)
		}
	}
	if most > maxParallel {
		t.Errorf("%d at a time", most)
	}
}
