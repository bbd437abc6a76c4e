package controllers

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

// passesOfIdleness are the passes over a Cluster in somewhat more than two minutes without a change.
const passesOfIdleness = 6

// Clusters in which nothing changes cost no write, whatever others put on the objects.
func TestC50ConvergedClustersAreQuiet(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	s.operator()
	names := []string{"a", "b", "c"}
	for i, name := range names {
		s.cluster(name, int32(1+i), func(c *v1alpha1.Cluster) { // without and with racks, labels and settings of both kinds
			if name == "c" {
				c.Spec.Rack = &v1alpha1.Rack{}
				c.Spec.PodTemplate.Labels = map[string]string{"team": "streams"}
				c.Spec.Config = map[string]string{needsRestart: "50000000", "log.retention.ms": "1000"}
			}
		})
	}
	for _, name := range names {
		s.awaitReady(name)
	}
	s.idle(names...)

	// What others put on objects stays, and wakes nobody into writing.
	for _, o := range []client.Object{&appsv1.StatefulSet{}, &corev1.Pod{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{}, &v1alpha1.Cluster{}} {
		name := "c"
		switch o.(type) {
		case *corev1.Pod:
			name = "c-0"
		case *corev1.Service:
			name = "c-bootstrap"
		}
		s.read(name, o)
		before := o.DeepCopyObject().(client.Object)
		labels, annotations := o.GetLabels(), o.GetAnnotations()
		if labels == nil {
			labels = map[string]string{}
		}
		if annotations == nil {
			annotations = map[string]string{}
		}
		labels["example.com/injected"], annotations["example.com/injected"] = "yes", "yes"
		o.SetLabels(labels)
		o.SetAnnotations(annotations)
		if err := s.kube.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	s.idle(names...)
	set := s.statefulSet("c")
	if p := s.pod("c-0"); p.Labels["example.com/injected"] != "yes" || set.Annotations["example.com/injected"] != "yes" {
		t.Error("what others put on was taken off")
	}

	// What is the operator's comes back.
	before := set.DeepCopy()
	delete(set.Annotations, desired.SpecHashAnnotation)
	set.Spec.Template.Spec.Containers[0].Image = "other:image"
	if err := s.kube.Patch(t.Context(), set, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	s.awaitPasses("c", 2)
	s.awaitReady("c")
	if got := s.statefulSet("c"); got.Spec.Template.Spec.Containers[0].Image != "fairlead:test" {
		t.Errorf("image %s", got.Spec.Template.Spec.Containers[0].Image)
	}
}

// idle waits for some passes over each Cluster and fails if one of them wrote anything.
func (s *stage) idle(names ...string) {
	s.Helper()
	for _, name := range names {
		s.awaitPasses(name, 2) // what may still be under way
	}
	s.calls.Reset()
	before := s.versions()
	for _, name := range names {
		s.awaitPasses(name, passesOfIdleness)
	}
	if w := s.calls.Writes(); len(w) > 0 {
		s.Errorf("%d writes without a reason: %v", len(w), w)
	}
	for what, version := range s.versions() {
		if before[what] != version {
			s.Errorf("%s changed: %s to %s", what, before[what], version)
		}
	}
}

// versions are the resource versions of all that there is in the namespace.
func (s *stage) versions() map[string]string {
	s.Helper()
	all := map[string]string{}
	for _, list := range []client.ObjectList{&v1alpha1.ClusterList{}, &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, &corev1.ServiceList{},
		&corev1.ServiceAccountList{}, &corev1.ConfigMapList{}, &appsv1.StatefulSetList{}, &policyv1.PodDisruptionBudgetList{}} {
		if err := s.kube.List(s.Context(), list, client.InNamespace(s.ns)); err != nil {
			s.Fatal(err)
		}
		err := meta.EachListItem(list, func(o runtime.Object) error {
			m, err := meta.Accessor(o)
			if err == nil {
				all[fmt.Sprintf("%T %s", o, m.GetName())] = m.GetResourceVersion()
			}
			return err
		})
		if err != nil {
			s.Fatal(err)
		}
	}
	return all
}
