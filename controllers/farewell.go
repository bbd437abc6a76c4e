package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/plan/topic"
)

// farewellTimeout bounds what an operator does when it goes together with its namespace. Less than stopTimeout.
const farewellTimeout = 15 * time.Second

// farewellRounds bounds how often Topics are read anew because somebody wrote one in between.
const farewellRounds = 20

// farewell is an operator's last act. If its own namespace is being deleted, nobody will be left to let go of the Topics in it, and they would
// hold the namespace for ever; their clusters go with it too. So it lets go of them itself. Kubernetes ends a namespace's pods before it deletes
// anything else in it (since 1.33; before that it may be quicker than this).
type farewell struct {
	namespace string // the operator's own
	live      client.Reader
	write     client.Client
	log       logr.Logger
}

// say is called when the operator is told to stop.
func (f farewell) say() {
	ctx, cancel := context.WithTimeout(context.Background(), farewellTimeout)
	defer cancel()
	released, err := f.release(ctx)
	if err != nil {
		f.log.Error(err, "let go of topics", "namespace", f.namespace)
	}
	if released > 0 {
		f.log.Info("the operator's namespace is being deleted: let go of the topics in it", "namespace", f.namespace, "topics", released)
	}
}

func (f farewell) release(ctx context.Context) (released int, err error) {
	var own corev1.Namespace
	if err := f.live.Get(ctx, client.ObjectKey{Name: f.namespace}, &own); err != nil {
		return 0, fmt.Errorf("read the operator's namespace: %w", err)
	}
	if own.DeletionTimestamp.IsZero() {
		return 0, nil
	}
	for range farewellRounds {
		n, err := f.releaseOnce(ctx)
		released += n
		if !apierrors.IsConflict(err) {
			return released, err
		}
	}
	return released, fmt.Errorf("topics of namespace %s are written all the time", f.namespace)
}

// releaseOnce lets go of the Topics as they are now. A conflict is told at the end: a pass that is under way still writes a status.
func (f farewell) releaseOnce(ctx context.Context) (released int, err error) {
	var topics v1alpha1.TopicList
	if err := f.live.List(ctx, &topics, client.InNamespace(f.namespace)); err != nil {
		return 0, fmt.Errorf("list topics: %w", err)
	}
	var conflict error
	for i := range topics.Items {
		t := &topics.Items[i]
		before := t.DeepCopy()
		if !controllerutil.RemoveFinalizer(t, topic.Finalizer) {
			continue
		}
		one := client.IgnoreNotFound(f.write.Patch(ctx, t, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
		switch {
		case one == nil:
			released++
		case apierrors.IsConflict(one):
			conflict = one
		default:
			err = errors.Join(err, fmt.Errorf("topic %s: %w", t.Name, one))
		}
	}
	if err == nil {
		err = conflict
	}
	return released, err
}
