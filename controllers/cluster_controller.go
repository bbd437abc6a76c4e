package controllers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/apply"
	"github.com/fairlead-io/fairlead/controllers/observe"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
)

// clusterReconciler is one pass over one Cluster.
type clusterReconciler struct {
	// live asks the API server itself. What was recorded in a status must be seen by the next pass, which a cache does not promise.
	live     client.Reader
	status   client.StatusClient
	observer *observe.Observer
	applier  *apply.Applier
	// drop closes the connections to the brokers of a Cluster that is gone.
	drop   func(uid string)
	memory *memory
	// wait is how long to wait when a plan says so: spread, but in tests.
	wait func(time.Duration) time.Duration
}

// Reconcile makes a pass.
func (r *clusterReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := r.pass(ctx, req)
	if errors.Is(ctx.Err(), context.Canceled) {
		return reconcile.Result{}, nil // the operator is told to stop; the next one goes on from what is recorded
	}
	return result, err
}

// pass observes, plans, applies and reports.
func (r *clusterReconciler) pass(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c := &v1alpha1.Cluster{}
	if err := r.live.Get(ctx, req.NamespacedName, c); err != nil {
		if !apierrors.IsNotFound(err) {
			return reconcile.Result{}, fmt.Errorf("read cluster %s: %w", req.NamespacedName, err)
		}
		if uid := r.memory.forget(req.NamespacedName); uid != "" {
			r.drop(string(uid))
		}
		return reconcile.Result{}, nil
	}
	failures, replaced := r.memory.begin(req.NamespacedName, c.UID)
	if replaced != "" {
		r.drop(string(replaced))
	}

	snapshot, err := r.observer.Snapshot(ctx, c)
	if err != nil {
		return reconcile.Result{}, err
	}
	snapshot.Failures = failures
	plan := cluster.Compute(snapshot)

	did := r.applier.Do(ctx, c, plan.Actions)
	for _, a := range did.Done {
		if _, told := a.(cluster.Event); !told {
			log.FromContext(ctx).Info("done", "action", a.String())
		}
	}
	r.memory.fail(req.NamespacedName, did.Failed)

	switch err := r.report(ctx, c, plan.Status); {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		did.Outdated = true // the Cluster changed or went meanwhile
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("write status: %w", err)
	}
	switch {
	case did.Failed != nil:
		return reconcile.Result{}, did.Failed // tried again soon, then less and less often
	case did.Outdated:
		return reconcile.Result{RequeueAfter: firstRetry}, nil
	}
	r.memory.pass(req.NamespacedName, plan.Status.Conditions)
	return reconcile.Result{RequeueAfter: r.wait(plan.LookAgain)}, nil
}

// report patches the status, if it differs and if the Cluster is still the one that was looked at.
func (r *clusterReconciler) report(ctx context.Context, c *v1alpha1.Cluster, status v1alpha1.ClusterStatus) error {
	if equality.Semantic.DeepEqual(c.Status, status) {
		return nil
	}
	before := c.DeepCopy()
	c.Status = status
	return r.status.Status().Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// spread makes long waits up to a tenth longer, so that Clusters that an operator found at one time are not looked at all at one time.
func spread(wait time.Duration) time.Duration {
	if wait < cluster.Steady {
		return wait
	}
	return wait + rand.N(wait/10+1)
}
