package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/plan/topic"
)

// C43 B: an operator that goes together with its namespace lets go of the Topics in it; one that is only restarted holds them.
func TestC43AnOperatorInADyingNamespaceLetsGo(t *testing.T) {
	s := newStage(t)
	s.oneNamespace()
	held := &v1alpha1.Topic{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "held", Finalizers: []string{topic.Finalizer, "example.com/theirs"}},
		Spec: v1alpha1.TopicSpec{ClusterRef: v1alpha1.ClusterReference{Name: "c"}}}
	s.create(held)
	own := func(o *Options) { o.Namespace, o.OwnNamespace = s.ns, s.ns }

	s.operator(own)()
	s.read("held", held)
	if len(held.Finalizers) != 2 {
		t.Errorf("after a restart: %v", held.Finalizers)
	}
	if err := s.kube.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}); err != nil {
		t.Fatal(err)
	}
	s.operator(own)()
	s.read("held", held)
	if len(held.Finalizers) != 1 || held.Finalizers[0] != "example.com/theirs" {
		t.Errorf("with its namespace: %v", held.Finalizers)
	}
}
