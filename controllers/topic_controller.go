package controllers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/apply"
	"github.com/fairlead-io/fairlead/controllers/catalogue"
	"github.com/fairlead-io/fairlead/controllers/plan/topic"
)

// topicReconciler is one pass over one Topic. Unlike Clusters, Topics come by the thousand: a pass reads caches, and what it writes is
// refused when they were old.
type topicReconciler struct {
	read       client.Reader // the cache
	write      client.Client
	events     apply.Events
	catalogues *catalogue.Clusters
	// brokers gives the one client of a cluster.
	brokers func(*v1alpha1.Cluster) (catalogue.Brokers, error)
	memory  *topicMemory
	wake    *waker
	now     func() time.Time
	wait    func(time.Duration) time.Duration // what a plan's wait amounts to
}

// Reconcile observes, plans, applies, looks whether it is done, and reports.
func (r *topicReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	t := &v1alpha1.Topic{}
	if err := r.read.Get(ctx, req.NamespacedName, t); err != nil {
		if !apierrors.IsNotFound(err) {
			return reconcile.Result{}, fmt.Errorf("read topic %s: %w", req.NamespacedName, err)
		}
		r.memory.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	m := r.memory.of(req.NamespacedName, t.UID)
	snapshot, cluster, err := r.observe(ctx, t, m)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := topic.Compute(snapshot)
	out := r.carryOut(ctx, t, cluster, plan)
	switch {
	case out.err != nil:
		return again(out.err)
	case out.released:
		r.memory.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	if plan.Acts() {
		// The status says what came of it, in the same pass: what the brokers said no to, or what they have now.
		snapshot.Last = m.settle(t.Generation, out, r.now())
		snapshot.Topic = t.DeepCopy()
		if out.refusal == nil {
			snapshot.Topic.Status = plan.Status
			r.look(ctx, cluster, &snapshot, m)
		}
		plan = topic.Compute(snapshot)
		r.record(t, plan)
	}
	m.saw(snapshot, plan)
	r.memory.keep(req.NamespacedName, m)
	if err := r.report(ctx, t, plan.Status); err != nil {
		return again(err)
	}
	return reconcile.Result{RequeueAfter: r.wait(plan.LookAgain)}, nil
}

// report patches the status, if it differs and if the Topic is still the one that was looked at.
func (r *topicReconciler) report(ctx context.Context, t *v1alpha1.Topic, status v1alpha1.TopicStatus) error {
	if equality.Semantic.DeepEqual(t.Status, status) {
		return nil
	}
	before := t.DeepCopy()
	t.Status = status
	if err := r.write.Status().Patch(ctx, t, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write status of topic %s/%s: %w", t.Namespace, t.Name, err)
	}
	return nil
}

// again is the result after the API server refused something. A Topic that changed while it was looked at is looked at as it is now.
func again(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return reconcile.Result{RequeueAfter: topic.Soon}, nil
	}
	return reconcile.Result{}, err
}

// apart makes long waits up to a third longer, so that Topics that were made at one time are not looked at all at one time.
func apart(wait time.Duration) time.Duration {
	if wait < topic.Busy {
		return wait
	}
	return wait + rand.N(wait/3+1)
}
