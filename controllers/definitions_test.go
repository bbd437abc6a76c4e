package controllers

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/test/kubetest"
)

// What the API server refuses of a new Cluster, and with which words; without words it takes it.
func TestNewClusters(t *testing.T) {
	kube := kubetest.Client(t, kubetest.Server(t))
	ns := kubetest.Namespace(t, kube)
	for i, r := range []struct {
		what   string
		change func(*v1alpha1.Cluster)
		words  string
	}{
		{"the least", func(*v1alpha1.Cluster) {}, ""},
		{"no brokers", func(c *v1alpha1.Cluster) { c.Spec.Replicas = 0 }, "greater than or equal to 1"},
		{"fewer than none", func(c *v1alpha1.Cluster) { c.Spec.Replicas = -1 }, "greater than or equal to 1"},
		{"as many as can be", func(c *v1alpha1.Cluster) { c.Spec.Replicas = 100 }, ""},
		{"too many", func(c *v1alpha1.Cluster) { c.Spec.Replicas = 101 }, "less than or equal to 100"},
		{"no size", func(c *v1alpha1.Cluster) { c.Spec.Storage.Size = resource.MustParse("0") }, "size must be positive"},
		{"a name that no Service can have", func(c *v1alpha1.Cluster) { c.Name = "1c" }, "begins with a letter"},
		{"a name with a dot", func(c *v1alpha1.Cluster) { c.Name = "a.b" }, "begins with a letter"},
		{"the longest name", func(c *v1alpha1.Cluster) { c.Name = strings.Repeat("a", 40) }, ""},
		{"a longer name", func(c *v1alpha1.Cluster) { c.Name = strings.Repeat("a", 41) }, "at most 40"},
		{"a setting that the operator writes", func(c *v1alpha1.Cluster) { c.Spec.Config = map[string]string{"node.id": "1"} }, "written by the operator"},
		{"any other setting", func(c *v1alpha1.Cluster) { c.Spec.Config = map[string]string{"no.such.setting": "1"} }, ""},
		{"a listener at a port that is taken", func(c *v1alpha1.Cluster) {
			c.Spec.Listeners = []v1alpha1.Listener{{Name: "plain", Port: 9093, Type: v1alpha1.InternalListener}}
		}, "are taken"},
		{"a listener with a name that is taken", func(c *v1alpha1.Cluster) {
			c.Spec.Listeners = []v1alpha1.Listener{{Name: "internal", Port: 9092, Type: v1alpha1.InternalListener}}
		}, "are taken"},
		{"two listeners at one port", func(c *v1alpha1.Cluster) {
			c.Spec.Listeners = []v1alpha1.Listener{{Name: "a", Port: 9092, Type: v1alpha1.InternalListener}, {Name: "b", Port: 9092, Type: v1alpha1.InternalListener}}
		}, "same port"},
		{"an unknown deletion policy", func(c *v1alpha1.Cluster) { c.Spec.Storage.DeletionPolicy = "Maybe" }, "Unsupported value"},
	} {
		t.Run(r.what, func(t *testing.T) {
			c := newCluster(ns, fmt.Sprintf("c%d", i))
			c.Spec.Replicas = 3
			r.change(c)
			refused(t, kube.Create(t.Context(), c), r.words)
		})
	}
}

// What cannot change of a Cluster, and what can.
func TestChangesOfClusters(t *testing.T) {
	kube := kubetest.Client(t, kubetest.Server(t))
	ns := kubetest.Namespace(t, kube)
	other := "other"
	for i, r := range []struct {
		what   string
		change func(*v1alpha1.ClusterSpec)
		words  string
	}{
		{"a smaller volume", func(c *v1alpha1.ClusterSpec) { c.Storage.Size = resource.MustParse("1Gi") }, "size cannot shrink"},
		{"a larger volume", func(c *v1alpha1.ClusterSpec) { c.Storage.Size = resource.MustParse("3Gi") }, ""},
		{"the same size in other words", func(c *v1alpha1.ClusterSpec) { c.Storage.Size = resource.MustParse("2048Mi") }, ""},
		{"another storage class", func(c *v1alpha1.ClusterSpec) { c.Storage.StorageClassName = &other }, "storageClassName cannot change"},
		{"no storage class", func(c *v1alpha1.ClusterSpec) { c.Storage.StorageClassName = nil }, "storageClassName cannot change"},
		{"another deletion policy", func(c *v1alpha1.ClusterSpec) { c.Storage.DeletionPolicy = v1alpha1.Delete }, ""},
		{"no brokers", func(c *v1alpha1.ClusterSpec) { c.Replicas = 0 }, "greater than or equal to 1"},
		{"fewer brokers", func(c *v1alpha1.ClusterSpec) { c.Replicas = 1 }, ""},
	} {
		t.Run(r.what, func(t *testing.T) {
			c := newCluster(ns, fmt.Sprintf("c%d", i))
			class := "disk"
			c.Spec.Replicas, c.Spec.Storage.Size, c.Spec.Storage.StorageClassName = 3, resource.MustParse("2Gi"), &class
			if err := kube.Create(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			r.change(&c.Spec)
			refused(t, kube.Update(t.Context(), c), r.words)
		})
	}
}

// What the API server refuses of new and changed Topics.
func TestDefinitionOfTopics(t *testing.T) {
	kube := kubetest.Client(t, kubetest.Server(t))
	ns := kubetest.Namespace(t, kube)
	topic := func(name, topicName string) *v1alpha1.Topic {
		return &v1alpha1.Topic{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: v1alpha1.TopicSpec{ClusterRef: v1alpha1.ClusterReference{Name: "c"}, TopicName: topicName}}
	}
	for i, r := range []struct{ topicName, words string }{
		{"my_topic", ""}, {"Orders.V2", ""}, {"_schemas", ""}, {strings.Repeat("a", 249), ""},
		{strings.Repeat("a", 250), "249"}, {"a b", "should match"}, {".", "cannot be named"}, {"..", "cannot be named"}, {"größe", "should match"},
	} {
		refused(t, kube.Create(t.Context(), topic(fmt.Sprintf("t%d", i), r.topicName)), r.words)
	}
	for i, r := range []struct {
		what   string
		change func(*v1alpha1.TopicSpec)
		words  string
	}{
		{"another name", func(s *v1alpha1.TopicSpec) { s.TopicName = "b" }, "topicName cannot change"},
		{"no name", func(s *v1alpha1.TopicSpec) { s.TopicName = "" }, "topicName cannot change"},
		{"another cluster", func(s *v1alpha1.TopicSpec) { s.ClusterRef.Name = "d" }, "clusterRef cannot change"},
		{"no partitions", func(s *v1alpha1.TopicSpec) { s.Partitions = new(int32(0)) }, "greater than or equal to 1"},
		{"fewer partitions, which is for the operator to say no to", func(s *v1alpha1.TopicSpec) { s.Partitions = new(int32(1)) }, ""},
		{"another policy", func(s *v1alpha1.TopicSpec) { s.DeletionPolicy = v1alpha1.Delete }, ""},
	} {
		t.Run(r.what, func(t *testing.T) {
			o := topic(fmt.Sprintf("u%d", i), "a")
			o.Spec.Partitions = new(int32(3))
			if err := kube.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			r.change(&o.Spec)
			refused(t, kube.Update(t.Context(), o), r.words)
		})
	}
}

func refused(t *testing.T, err error, words string) {
	t.Helper()
	switch {
	case words == "" && err != nil:
		t.Errorf("refused: %v", err)
	case words != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), words)):
		t.Errorf("got %v, want a refusal with %q", err, words)
	}
}

func newCluster(namespace, name string) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.ClusterSpec{Storage: v1alpha1.Storage{Size: resource.MustParse("1Gi")}}}
}
