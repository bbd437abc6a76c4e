package controllers

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

func TestWhatOfAClusterMattersToItsTopics(t *testing.T) {
	ready := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: "Ready", Status: status}}
	}
	for what, r := range map[string]struct {
		change  func(*v1alpha1.Cluster)
		matters bool
	}{
		"nothing":                        {func(*v1alpha1.Cluster) {}, false},
		"a label":                        {func(c *v1alpha1.Cluster) { c.Labels = map[string]string{"a": "b"} }, false},
		"a setting":                      {func(c *v1alpha1.Cluster) { c.Spec.Config = map[string]string{"a": "b"} }, false},
		"what a broker does":             {func(c *v1alpha1.Cluster) { c.Status.Brokers[0].State = "joining" }, false},
		"the operation":                  {func(c *v1alpha1.Cluster) { c.Status.Operation = &v1alpha1.Operation{} }, false},
		"why it is not ready":            {func(c *v1alpha1.Cluster) { c.Status.Conditions[0].Message = "other" }, false},
		"that it is ready":               {func(c *v1alpha1.Cluster) { c.Status.Conditions = ready(metav1.ConditionTrue) }, true},
		"that it is paused":              {func(c *v1alpha1.Cluster) { c.Spec.Paused = true }, true},
		"that it is deleted":             {func(c *v1alpha1.Cluster) { now := metav1.Now(); c.DeletionTimestamp = &now }, true},
		"its address":                    {func(c *v1alpha1.Cluster) { c.Status.BootstrapAddress = "a:1" }, true},
		"one more broker":                {func(c *v1alpha1.Cluster) { c.Status.Brokers = append(c.Status.Brokers, v1alpha1.BrokerStatus{ID: 1}) }, true},
		"that it is another of its name": {func(c *v1alpha1.Cluster) { c.UID = "other" }, true},
	} {
		before := &v1alpha1.Cluster{Status: v1alpha1.ClusterStatus{Conditions: ready(metav1.ConditionFalse), Brokers: []v1alpha1.BrokerStatus{{ID: 0}}}}
		now := before.DeepCopy()
		r.change(now)
		if got := matters(event.UpdateEvent{ObjectOld: before, ObjectNew: now}); got != r.matters {
			t.Errorf("%s: matters %v", what, got)
		}
	}
	if matters(event.UpdateEvent{ObjectOld: &corev1.Pod{}, ObjectNew: &corev1.Pod{}}) {
		t.Error("a pod matters")
	}
}

func TestTopicsAreWoken(t *testing.T) {
	topicBubble(t, func(t *testing.T, w *topicWorld) {
		w.topic("a")
		w.topic("b", func(s *v1alpha1.TopicSpec) { s.ClusterRef.Name = "other" })
		w.topic("d", func(s *v1alpha1.TopicSpec) { s.TopicName = "a" })
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer queue.ShutDown()
		expect := func(what string, want ...string) {
			t.Helper()
			got := map[string]bool{}
			for queue.Len() > 0 {
				req, _ := queue.Get()
				queue.Done(req)
				got[req.Name] = true
			}
			for _, name := range want {
				if !got[name] {
					t.Errorf("%s: %s is not woken", what, name)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s: woken are %v, want %v", what, got, want)
			}
		}
		wake, ctx := w.topics.wake, context.Background()
		wake.topics(keyOf("c")) // before there is a queue
		if err := wake.take(ctx, queue); err != nil {
			t.Fatal(err)
		}
		wake.topics(keyOf("c"))
		expect("those of a cluster that answers again", "a", "d")
		if n := len(wake.topicsOf(ctx, w.cluster)); n != 2 {
			t.Errorf("%d topics of the Cluster", n)
		}
		gone := w.get("a")
		w.topics.topicGone(ctx, event.DeleteEvent{Object: gone}, queue)
		expect("those that a Topic was in the way of", "a", "d")

		w.pass(1)
		w.topics.clusterGone(ctx, event.DeleteEvent{Object: w.cluster}, queue)
		if a := w.topics.catalogue(w.cluster).Look(ctx, "a", w.topics.now()); a.Found.Known() {
			t.Errorf("a Cluster that is gone is asked: %+v", a)
		}
	})
}
