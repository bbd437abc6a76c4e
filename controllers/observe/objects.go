package observe

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
)

// readObjects fills in what is in the Cluster's namespace.
func (o *Observer) readObjects(ctx context.Context, s *cluster.Snapshot) error {
	c, namespace := s.Cluster.Name, s.Cluster.Namespace
	var err error
	to := &s.Objects
	if to.StatefulSet, err = get[appsv1.StatefulSet](ctx, o.Cached, namespace, c); err != nil {
		return err
	}
	if to.BrokersService, err = get[corev1.Service](ctx, o.Cached, namespace, desired.BrokersService(c)); err != nil {
		return err
	}
	if to.BootstrapService, err = get[corev1.Service](ctx, o.Cached, namespace, desired.BootstrapService(c)); err != nil {
		return err
	}
	if to.ConfigMap, err = get[corev1.ConfigMap](ctx, o.Cached, namespace, desired.ConfigMapName(c)); err != nil {
		return err
	}
	if to.Budget, err = get[policyv1.PodDisruptionBudget](ctx, o.Cached, namespace, c); err != nil {
		return err
	}
	if to.ServiceAccount, err = get[corev1.ServiceAccount](ctx, o.Cached, namespace, desired.BrokersService(c)); err != nil {
		return err
	}
	var pods corev1.PodList
	var claims corev1.PersistentVolumeClaimList
	for _, list := range []client.ObjectList{&pods, &claims} {
		if err := o.Cached.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(desired.Selector(c))); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
	}
	s.Pods, s.Claims = pods.Items, claims.Items
	return nil
}

// get is the object, or nil when there is none.
func get[T any, P interface {
	*T
	client.Object
}](ctx context.Context, from client.Reader, namespace, name string) (P, error) {
	object := P(new(T))
	err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get %T %s: %w", object, name, err)
	}
	return object, nil
}
