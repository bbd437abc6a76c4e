package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/catalogue"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

// topicConcurrency is how many Topics are worked on at a time. A pass waits for brokers most of its time, and those that wait together go
// to the brokers in one request.
const topicConcurrency = 64

// addTopics adds the controller of Topics to the manager.
func addTopics(m manager.Manager, o Options) error {
	for name, key := range map[string]func(*v1alpha1.Topic) string{
		topicsByCluster: func(t *v1alpha1.Topic) string { return t.Spec.ClusterRef.Name },
		topicsByTopic:   topicKey,
	} {
		err := m.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.Topic{}, name, func(o client.Object) []string {
			t, ok := o.(*v1alpha1.Topic)
			if !ok {
				return nil
			}
			return []string{key(t)}
		})
		if err != nil {
			return fmt.Errorf("index topics by %s: %w", name, err)
		}
	}
	r := &topicReconciler{
		read: m.GetClient(), write: m.GetClient(), events: m.GetEventRecorder(desired.FieldOwner),
		catalogues: catalogue.NewClusters(), brokers: o.Brokers.Topics, memory: newTopicMemory(),
		wake: &waker{read: m.GetClient()}, now: time.Now, wait: apart,
	}
	if o.wait != nil {
		r.wait = o.wait
	}
	if err := m.Add(untilStopped(r.catalogues.Close)); err != nil {
		return err
	}
	return builder.ControllerManagedBy(m).
		Named("topic").
		For(&v1alpha1.Topic{}, builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, deletionBegins))).
		Watches(&v1alpha1.Topic{}, handler.Funcs{DeleteFunc: r.topicGone}).
		Watches(&v1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.wake.topicsOf), builder.WithPredicates(predicate.Funcs{UpdateFunc: matters})).
		Watches(&v1alpha1.Cluster{}, handler.Funcs{DeleteFunc: r.clusterGone}).
		WatchesRawSource(source.Func(r.wake.take)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: topicConcurrency,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(r)
}

// deletionBegins passes the update that begins a deletion.
var deletionBegins = predicate.Funcs{
	CreateFunc: never[event.CreateEvent], DeleteFunc: never[event.DeleteEvent], GenericFunc: never[event.GenericEvent],
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() && !e.ObjectNew.GetDeletionTimestamp().IsZero()
	},
}

// matters passes those changes of a Cluster that its Topics may have waited for. Its brokers' comings and goings are none.
func matters(e event.UpdateEvent) bool {
	before, ok1 := e.ObjectOld.(*v1alpha1.Cluster)
	now, ok2 := e.ObjectNew.(*v1alpha1.Cluster)
	return ok1 && ok2 && concern(before) != concern(now)
}

// concern is what Topics take from their Cluster.
func concern(c *v1alpha1.Cluster) any {
	ready := ""
	if r := conditions.Get(c.Status.Conditions, conditions.Ready); r != nil {
		ready = string(r.Status)
	}
	return struct {
		uid              types.UID
		deleting, paused bool
		address, ready   string
		brokers          int
	}{c.UID, !c.DeletionTimestamp.IsZero(), c.Spec.Paused, c.Status.BootstrapAddress, ready, len(c.Status.Brokers)}
}

// topicGone wakes those that the Topic was in the way of.
func (r *topicReconciler) topicGone(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	t, ok := e.Object.(*v1alpha1.Topic)
	if !ok {
		return
	}
	for _, req := range r.wake.list(ctx, t.Namespace, topicsByTopic, topicKey(t)) {
		queue.Add(req)
	}
}

// clusterGone ends the catalogue of a Cluster.
func (r *topicReconciler) clusterGone(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	r.catalogues.Drop(string(e.Object.GetUID()))
}

// waker puts Topics into the queue.
type waker struct {
	read client.Reader

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// take is a source that begins with no event: it takes the queue for those that come.
func (w *waker) take(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	return nil
}

// topics wakes the Topics of a Cluster.
func (w *waker) topics(cluster types.NamespacedName) {
	w.mu.Lock()
	queue := w.queue
	w.mu.Unlock()
	if queue == nil {
		return
	}
	for _, req := range w.list(context.Background(), cluster.Namespace, topicsByCluster, cluster.Name) {
		queue.Add(req)
	}
}

// topicsOf lists the Topics of a Cluster.
func (w *waker) topicsOf(ctx context.Context, o client.Object) []reconcile.Request {
	return w.list(ctx, o.GetNamespace(), topicsByCluster, o.GetName())
}

func (w *waker) list(ctx context.Context, namespace, index, value string) []reconcile.Request {
	var all v1alpha1.TopicList
	if err := w.read.List(ctx, &all, client.InNamespace(namespace), client.MatchingFields{index: value}, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache has no such index, which the start would have said
	}
	out := make([]reconcile.Request, 0, len(all.Items))
	for i := range all.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
	}
	return out
}
