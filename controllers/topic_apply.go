package controllers

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/brokerclient"
	"github.com/fairlead-io/fairlead/controllers/catalogue"
	"github.com/fairlead-io/fairlead/controllers/plan/topic"
)

// outcome is what came of a plan's actions.
type outcome struct {
	refusal  *topic.Refusal // by the brokers; the actions after it were left
	created  bool           // the brokers took the creation of the topic
	released bool           // the Topic may be gone
	err      error          // of the API server
}

// carryOut does what a plan says, in its order. Two changes of one topic are both judged by the brokers before one is made.
func (r *topicReconciler) carryOut(ctx context.Context, t *v1alpha1.Topic, c *catalogue.Cluster, p topic.Plan) outcome {
	var out outcome
	if changes := p.Changes(); len(changes) > 1 {
		for _, a := range changes {
			if out.refusal = refusalOf(a, change(ctx, c, brokerclient.Validate, a)); out.refusal != nil {
				return out
			}
		}
	}
	for _, a := range p.Actions {
		switch a := a.(type) {
		case topic.Hold:
			out.err = r.finalizer(ctx, t, controllerutil.AddFinalizer)
		case topic.Release:
			out.err = r.finalizer(ctx, t, controllerutil.RemoveFinalizer)
			out.released = out.err == nil && !t.DeletionTimestamp.IsZero()
		case topic.Event:
			r.event(t, a)
		default:
			out.refusal = refusalOf(a, change(ctx, c, brokerclient.Apply, a))
			_, creates := a.(topic.Create)
			out.created = out.created || creates && out.refusal == nil
			if out.refusal == nil {
				log.FromContext(ctx).Info("done", "action", a.String())
			}
		}
		if out.err != nil || out.refusal != nil {
			return out
		}
	}
	return out
}

// change asks the brokers for one change.
func change(ctx context.Context, c *catalogue.Cluster, purpose brokerclient.Purpose, a topic.Action) error {
	switch a := a.(type) {
	case topic.Create:
		return c.Create(ctx, brokerclient.NewTopic{Name: a.Topic, Partitions: a.Partitions, Replicas: a.Replicas, Settings: a.Settings})
	case topic.Grow:
		return c.Grow(ctx, purpose, brokerclient.Growth{Name: a.Topic, Partitions: a.Partitions})
	case topic.Alter:
		return c.Alter(ctx, purpose, brokerclient.TopicChange{Name: a.Topic, SettingsChange: brokerclient.SettingsChange{Set: a.Set, Remove: a.Remove}})
	case topic.Reassign:
		return c.Reassign(ctx, brokerclient.Reassignment{Name: a.Topic, Replicas: a.Replicas})
	case topic.Delete:
		err := c.Delete(ctx, brokerclient.DoomedTopic{Name: a.Topic, ID: a.ID})
		var no *brokerclient.Refusal
		if a.ID.IsZero() && errors.As(err, &no) && no.Code == kafka.UnknownTopicOrPartition {
			return nil
		}
		return err
	}
	panic(fmt.Sprintf("no way to carry out %T", a)) // the kinds that change something are all above
}

// outdated are refusals of what was planned from an old view: the next plan sees more.
var outdated = map[kafka.ErrorCode]bool{
	kafka.TopicAlreadyExists: true, kafka.UnknownTopicOrPartition: true, kafka.UnknownTopicID: true, kafka.InvalidPartitions: true,
}

// refusalOf is why an action was not carried out, nil when it was.
func refusalOf(a topic.Action, err error) *topic.Refusal {
	if err == nil {
		return nil
	}
	f := &topic.Refusal{Action: topic.Kind(a), Transient: true}
	var no *brokerclient.Refusal
	if errors.As(err, &no) {
		f.Code, f.Message, f.Transient = no.Code, no.Message, no.Transient() || outdated[no.Code]
	} else {
		f.Message = err.Error()
	}
	return f
}

// finalizer puts it on the Topic or takes it off.
func (r *topicReconciler) finalizer(ctx context.Context, t *v1alpha1.Topic, change func(client.Object, string) bool) error {
	before := t.DeepCopy()
	if !change(t, topic.Finalizer) {
		return nil
	}
	if err := r.write.Patch(ctx, t, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write finalizer of topic %s/%s: %w", t.Namespace, t.Name, err)
	}
	return nil
}

// record records the events of a plan that is not carried out.
func (r *topicReconciler) record(t *v1alpha1.Topic, p topic.Plan) {
	if p.Acts() {
		return // they go with the actions
	}
	for _, a := range p.Actions {
		if e, ok := a.(topic.Event); ok {
			r.event(t, e)
		}
	}
}

func (r *topicReconciler) event(t *v1alpha1.Topic, e topic.Event) {
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	r.events.Eventf(t, nil, kind, e.Reason, "Reconcile", "%s", e.Message)
}
