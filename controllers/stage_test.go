package controllers

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/test/kubetest"
)

// limit is how long a test waits for what must come. It is long because the machine may be busy, and is never waited for.
const limit = 90 * time.Second

// stage is what a test of the Cluster controller plays on: a namespace of a real API server, with stand-ins for kubelets and brokers. The
// operator has the permissions of config/rbac, and a call that it has no permission for fails the test.
type stage struct {
	*testing.T
	cfg       *rest.Config
	kube      client.WithWatch
	ns        string
	doubles   *doubles
	workloads *kubetest.Workloads
	// calls are the operator's; mayRefuse passes those refusals that a test is about.
	calls     *kubetest.Calls
	mayRefuse func(kubetest.Call) bool
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, cfg: kubetest.Server(t), calls: &kubetest.Calls{}}
	s.kube = kubetest.Client(t, s.cfg)
	s.ns = kubetest.Namespace(t, s.kube)
	s.doubles = newDoubles(t, s.kube)
	s.workloads = kubetest.StartWorkloads(t, s.cfg, s.doubles)
	t.Cleanup(func() {
		for _, c := range s.calls.Refused() {
			if s.mayRefuse == nil || !s.mayRefuse(c) {
				t.Errorf("no permission for %s", c)
			}
		}
	})
	return s
}

// user is the operator's name at the API server.
func (s *stage) user() string { return "system:serviceaccount:" + s.ns + ":fairlead-operator" }

// clusterWide gives the operator the permissions for all namespaces, without those that are named.
func (s *stage) clusterWide(without ...string) {
	s.Helper()
	for _, file := range []string{"role.yaml", "nodes_and_storage_role.yaml"} {
		role := s.role(file, without...)
		s.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Rules: role.Rules})
		s.create(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: s.subjects(),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}})
	}
}

// oneNamespace gives it those for its own.
func (s *stage) oneNamespace() {
	s.Helper()
	role := s.role("role.yaml")
	s.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: role.Name}, Rules: role.Rules})
	s.create(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: role.Name}, Subjects: s.subjects(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}})
}

func (s *stage) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: s.user()}}
}

// role is one of config/rbac, under a name of this test's own, without some permissions: "delete pods".
func (s *stage) role(file string, without ...string) *rbacv1.ClusterRole {
	s.Helper()
	role := readRole(s.T, file)
	role.Name += "-" + s.ns
	for _, w := range without {
		verb, name, _ := strings.Cut(w, " ")
		for i, r := range role.Rules {
			if len(r.Resources) == 1 && r.Resources[0] == name {
				role.Rules[i].Verbs = remove(r.Verbs, verb)
			}
		}
	}
	return role
}

func remove(all []string, one string) []string {
	var rest []string
	for _, v := range all {
		if v != one {
			rest = append(rest, v)
		}
	}
	return rest
}

func readRole(t *testing.T, file string) *rbacv1.ClusterRole {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(kubetest.Root(), "config", "rbac", file))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(text, role); err != nil || len(role.Rules) == 0 {
		t.Fatalf("%s: %d rules, %v", file, len(role.Rules), err)
	}
	return role
}

// operator runs one until the test ends or it is stopped. Half a minute of its time is a fraction of a second here.
func (s *stage) operator(change ...func(*Options)) (stop func()) {
	s.Helper()
	cfg := rest.CopyConfig(s.cfg)
	cfg.Impersonate.UserName = s.user()
	o := Options{
		Image: "fairlead:test", MetricsAddress: "0", ProbeAddress: "0", Brokers: s.doubles.brokers(), Log: logOf(s.T),
		wait: func(d time.Duration) time.Duration { return min(d, 100*time.Millisecond) },
	}
	for _, f := range change {
		f(&o)
	}
	m, err := NewManager(s.calls.Record(cfg), o)
	if err != nil {
		s.Fatal(err)
	}
	return kubetest.Run(s.T, m)
}

// logOf keeps an operator's log, and shows it when the test fails.
func logOf(t *testing.T) logr.Logger {
	var mu sync.Mutex
	var text strings.Builder
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if t.Failed() {
			t.Log("the operator's log:\n" + text.String())
		}
	})
	return logr.FromSlogHandler(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return text.Write(b)
	}), nil))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// create makes an object.
func (s *stage) create(o client.Object) {
	s.Helper()
	if err := s.kube.Create(s.Context(), o); err != nil {
		s.Fatal(err)
	}
}

// cluster makes a Cluster.
func (s *stage) cluster(name string, brokers int32, change ...func(*v1alpha1.Cluster)) *v1alpha1.Cluster {
	s.Helper()
	c := newCluster(s.ns, name)
	c.Spec.Replicas = brokers
	for _, f := range change {
		f(c)
	}
	s.create(c)
	return c
}

// double is the brokers of a cluster.
func (s *stage) double(name string) *double { return s.doubles.of(s.ns, name) }

// edit changes a Cluster as a user does.
func (s *stage) edit(name string, change func(*v1alpha1.Cluster)) {
	s.Helper()
	c := s.get(name)
	before := c.DeepCopy()
	change(c)
	if err := s.kube.Patch(s.Context(), c, client.MergeFrom(before)); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) get(name string) *v1alpha1.Cluster {
	s.Helper()
	c := &v1alpha1.Cluster{}
	s.read(name, c)
	return c
}

// read reads an object of the namespace.
func (s *stage) read(name string, o client.Object) {
	s.Helper()
	if err := s.kube.Get(s.Context(), client.ObjectKey{Namespace: s.ns, Name: name}, o); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) pod(name string) *corev1.Pod {
	s.Helper()
	p := &corev1.Pod{}
	s.read(name, p)
	return p
}

func (s *stage) statefulSet(name string) *appsv1.StatefulSet {
	s.Helper()
	set := &appsv1.StatefulSet{}
	s.read(name, set)
	return set
}

func (s *stage) pods(cluster string) map[string]*corev1.Pod {
	s.Helper()
	var list corev1.PodList
	if err := s.kube.List(s.Context(), &list, client.InNamespace(s.ns), client.MatchingLabels(desired.Selector(cluster))); err != nil {
		s.Fatal(err)
	}
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		pods[list.Items[i].Name] = &list.Items[i]
	}
	return pods
}

// awaitCondition waits for a condition of the spec that there is now, with a message that has the text.
func (s *stage) awaitCondition(name, kind string, status metav1.ConditionStatus, reason, text string) *v1alpha1.Cluster {
	s.Helper()
	var c *v1alpha1.Cluster
	kubetest.Await(s.T, limit, func() error {
		c = s.get(name)
		got := meta.FindStatusCondition(c.Status.Conditions, kind)
		if got == nil || got.Status != status || got.Reason != reason || !strings.Contains(got.Message, text) || got.ObservedGeneration != c.Generation {
			return fmt.Errorf("%s is not %s %s %q: %s", kind, status, reason, text, describe(c))
		}
		return nil
	})
	return c
}

// awaitReady waits until the Cluster is as its spec wants it.
func (s *stage) awaitReady(name string) *v1alpha1.Cluster {
	s.Helper()
	return s.awaitCondition(name, "Ready", metav1.ConditionTrue, "AsWanted", "")
}

// awaitPasses waits until the operator looked n times more at a Cluster.
func (s *stage) awaitPasses(name string, n int) {
	s.Helper()
	c, begin := s.double(name), -1
	kubetest.Await(s.T, limit, func() error {
		s.doubles.mu.Lock()
		defer s.doubles.mu.Unlock()
		if begin < 0 {
			begin = c.looks
		}
		if c.looks < begin+n {
			return fmt.Errorf("%d of %d passes over %s", c.looks-begin, n, name)
		}
		return nil
	})
}

// describe is a status for a failed test.
func describe(c *v1alpha1.Cluster) string {
	text := fmt.Sprintf("generation %d observed %d", c.Generation, c.Status.ObservedGeneration)
	for _, k := range c.Status.Conditions {
		text += fmt.Sprintf("\n  %s %s %s: %s", k.Type, k.Status, k.Reason, k.Message)
	}
	for _, b := range c.Status.Brokers {
		text += fmt.Sprintf("\n  broker %d %s %s", b.ID, b.State, b.Message)
	}
	if o := c.Status.Operation; o != nil {
		text += fmt.Sprintf("\n  operation %s of broker %d since %v", o.Type, o.Broker, o.StartedAt)
	}
	return text
}
