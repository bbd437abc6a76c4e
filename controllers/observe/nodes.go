package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/fact"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
)

// nodes looks at nodes of pods. They are the cluster's largest and busiest objects and say nothing new of a broker that runs, so none is
// watched, and those are read that a plan could need: of pods that are not ready, or that wait to be told their rack.
func (o *Observer) nodes(ctx context.Context, s cluster.Snapshot) map[string]fact.Fact[*corev1.Node] {
	var names []string
	seen := map[string]bool{}
	for _, p := range s.Pods {
		name := p.Spec.NodeName
		waits := s.Cluster.Spec.Rack != nil && p.Annotations[desired.RackAnnotation] == ""
		if name == "" || seen[name] || ready(p) && !waits {
			continue
		}
		seen[name] = true
		names = append(names, name)
	}
	facts := inParallel(names, func(name string) fact.Fact[*corev1.Node] {
		if o.OwnNamespaceOnly {
			return fact.Unknown[*corev1.Node](notAsked)
		}
		node, err := get[corev1.Node](ctx, o.Live, "", name)
		if err != nil {
			return fact.Unknown[*corev1.Node](why(err))
		}
		return fact.Known(node)
	})
	out := make(map[string]fact.Fact[*corev1.Node], len(names))
	for i, name := range names {
		out[name] = facts[i]
	}
	return out
}

// storageClasses looks at them when a volume is to be made or to grow.
func (o *Observer) storageClasses(ctx context.Context, s cluster.Snapshot) fact.Fact[[]storagev1.StorageClass] {
	wanted := s.Cluster.Spec.Storage.Size
	needed := s.Objects.StatefulSet == nil || len(s.Claims) < int(s.Cluster.Spec.Replicas)
	for _, c := range s.Claims {
		needed = needed || c.Status.Phase != corev1.ClaimBound || wanted.Cmp(c.Spec.Resources.Requests[corev1.ResourceStorage]) > 0 ||
			wanted.Cmp(c.Status.Capacity[corev1.ResourceStorage]) > 0
	}
	if !needed {
		return fact.Unknown[[]storagev1.StorageClass]("not looked at: no volume is to be made or to grow")
	}
	if o.OwnNamespaceOnly {
		return fact.Unknown[[]storagev1.StorageClass](notAsked)
	}
	var list storagev1.StorageClassList
	if err := o.Live.List(ctx, &list); err != nil {
		return fact.Unknown[[]storagev1.StorageClass](why(fmt.Errorf("list storage classes: %w", err)))
	}
	return fact.Known(list.Items)
}

// notAsked is why nodes and storage classes are not known to an operator that keeps to namespaces.
const notAsked = "no permission: the operator runs with --read-nodes-and-storage=false"

// why says in a clause why the API server did not tell.
func why(err error) string {
	if apierrors.IsForbidden(err) {
		return "no permission: " + err.Error()
	}
	return err.Error()
}

func ready(p corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
