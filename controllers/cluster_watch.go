package controllers

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
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

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// After a pass that failed the next one comes after firstRetry, then after twice the time again and again, up to lastRetry.
const firstRetry, lastRetry = 200 * time.Millisecond, 30 * time.Second

// watchClusters makes the manager pass over Clusters when they or what belongs to them changes. The operator's own status patches wake
// nobody: a plan says when to look again.
func watchClusters(m manager.Manager, r *clusterReconciler) error {
	return builder.ControllerManagedBy(m).
		Named("cluster").
		For(&v1alpha1.Cluster{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.StatefulSet{}, builder.WithPredicates(wanted)).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(wanted)).
		Owns(&corev1.Service{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&corev1.ServiceAccount{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(clusterOf)).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(clusterOf)).
		WithLogConstructor(func(req *reconcile.Request) logr.Logger {
			if req == nil {
				return m.GetLogger()
			}
			return m.GetLogger().WithValues("cluster", req.String())
		}).
		WithOptions(controller.Options{
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(r)
}

// wanted passes changes of what is wanted of an object, and of its metadata; what others report in its status is no reason to look.
var wanted = predicate.Or[client.Object](
	predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{},
	predicate.Funcs{CreateFunc: never[event.CreateEvent], DeleteFunc: never[event.DeleteEvent], GenericFunc: never[event.GenericEvent], UpdateFunc: ownerChanged},
)

func never[E any](E) bool { return false }

func ownerChanged(e event.UpdateEvent) bool {
	return len(e.ObjectOld.GetOwnerReferences()) != len(e.ObjectNew.GetOwnerReferences())
}

// clusterOf is the Cluster of a pod or claim. They belong to the StatefulSet, or to nobody, and name the Cluster in a label.
func clusterOf(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()["app.kubernetes.io/instance"]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}
