package controllers

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// contested writes Topics in between, as a pass does that is still under way.
type contested struct {
	client.Client
	conflicts int
}

func (c *contested) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if c.conflicts > 0 {
		c.conflicts--
		other := &v1alpha1.Topic{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()}}
		touch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d"}}}`, c.conflicts))
		if err := c.Client.Patch(ctx, other, touch); err != nil {
			return err
		}
	}
	return c.Client.Patch(ctx, o, p, opts...)
}

func TestC43AFarewellIsNotDeterredByConflicts(t *testing.T) {
	s := newStage(t)
	s.create(&v1alpha1.Topic{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "held", Finalizers: []string{topic.Finalizer}},
		Spec: v1alpha1.TopicSpec{ClusterRef: v1alpha1.ClusterReference{Name: "c"}}})
	if err := s.kube.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}); err != nil {
		t.Fatal(err)
	}
	f := func(conflicts, want int, failure string) {
		t.Helper()
		released, err := farewell{namespace: s.ns, live: s.kube, write: &contested{s.kube, conflicts}}.release(t.Context())
		if released != want || (err == nil) != (failure == "") || err != nil && !strings.Contains(err.Error(), failure) {
			t.Errorf("%d conflicts: %d released, %v", conflicts, released, err)
		}
	}
	f(farewellRounds, 0, "written all the time")
	f(3, 1, "")
}
