package apply

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
)

// Applier carries out plans for Clusters.
type Applier struct {
	Writer client.Writer
	// Live asks the API server itself.
	Live client.Reader
	// Kafka gives the client of a cluster.
	Kafka  func(*v1alpha1.Cluster) (Kafka, error)
	Events Events
}

// Kafka changes a cluster through Kafka's protocol.
type Kafka interface {
	AlterClusterSettings(context.Context, brokerclient.SettingsChange) error
	Unregister(ctx context.Context, broker int32) error
}

// Events records events.
type Events interface {
	Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any)
}

// Result is what came of the actions of a plan.
type Result struct {
	Done []cluster.Action
	// Outdated means that an object was another one by now than the plan had seen: the next plan sees it. That is no failure.
	Outdated bool
	// Failed is what the others failed of.
	Failed error
}

// Do carries the actions out. One that fails keeps none of the others from being done: what would depend on it is in a later plan.
func (a *Applier) Do(ctx context.Context, c *v1alpha1.Cluster, actions []cluster.Action) Result {
	var r Result
	var failed []error
	undone := false // the last action that was no event
	for _, action := range actions {
		if _, tells := action.(cluster.Event); tells && undone {
			continue // of what did not happen
		}
		err := a.one(ctx, c, action)
		undone = err != nil
		switch {
		case err == nil:
			r.Done = append(r.Done, action)
		case apierrors.IsConflict(err):
			r.Outdated = true
		default:
			failed = append(failed, fmt.Errorf("%s: %w", action, err))
		}
	}
	r.Failed = errors.Join(failed...)
	return r
}

func (a *Applier) one(ctx context.Context, c *v1alpha1.Cluster, action cluster.Action) error {
	switch act := action.(type) {
	case cluster.Apply:
		return a.apply(ctx, c, act.Object)
	case cluster.ScaleIn:
		return a.apply(ctx, c, act.StatefulSet)
	case cluster.DeletePod:
		return a.delete(ctx, pod(c, act.Name), act.UID)
	case cluster.PatchPod:
		return goneIsDone(a.Writer.Patch(ctx, pod(c, act.Name), client.RawPatch(mergePatch, act.Patch()), owner))
	case cluster.GrowClaim:
		return a.grow(ctx, c, act)
	case cluster.DeleteClaim:
		return a.delete(ctx, claim(c, act.Name), act.UID)
	case cluster.MarkFormed:
		return a.mark(ctx, c, act)
	case cluster.OrphanStatefulSet:
		return a.delete(ctx, statefulSet(c, act.Name), act.UID, orphan)
	case cluster.AlterSettings:
		k, err := a.Kafka(c)
		if err != nil {
			return err
		}
		return k.AlterClusterSettings(ctx, brokerclient.SettingsChange{Set: act.Set, Remove: act.Delete})
	case cluster.UnregisterBroker:
		return a.unregister(ctx, c, act.ID)
	case cluster.Event:
		a.Events.Eventf(c, nil, act.Type, act.Reason, eventAction, "%s", shortened(act.Message))
		return nil
	}
	panic(fmt.Sprintf("no way to carry out %T", action)) // the kinds of a plan are all above
}
