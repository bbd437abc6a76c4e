package topic

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/conditions"
)

// hindered is a plan that may not be carried out now, or the plan as it is: the Cluster is paused, or the brokers refused it a while
// ago and nothing has changed since.
func hindered(s Snapshot, r *report, p Plan) Plan {
	if !p.Acts() {
		return p
	}
	wait := Plan{LookAgain: Steady}
	switch refusal := s.Last.Refusal; {
	case s.Cluster.Spec.Paused:
		r.ready(conditions.ClusterPaused, "Cluster %s is paused: the topic is not as the spec says, and is left as it is", s.Cluster.Name)
	case refusal == nil || !s.Now.Before(s.Last.Until) || !slices.ContainsFunc(p.Actions, func(a Action) bool { return Kind(a) == refusal.Action }):
		return p
	default:
		reason, message := explain(refusal)
		r.ready(reason, "%s", message)
		wait.LookAgain, wait.Begun = max(s.Last.Until.Sub(s.Now), Soon), true
	}
	wait.Status = r.done()
	return wait
}

// explain tells why the brokers refused something. The message has nothing in it that differs from one attempt to the next.
func explain(f *Refusal) (reason conditions.Reason, message string) {
	if f.Code == 0 {
		return silence(f)
	}
	text := f.Action + ": " + f.Code.String()
	if f.Message != "" {
		text += ": " + f.Message
	}
	switch f.Code {
	case kafka.InvalidConfig:
		return conditions.ConfigInvalid, text
	case kafka.InvalidReplicationFactor:
		return conditions.NotEnoughBrokers, text
	case kafka.InvalidTopicException:
		return conditions.NameInvalid, text
	case kafka.TopicDeletionDisabled:
		return conditions.DeletionRefused, "the cluster does not delete topics (delete.topic.enable=false): allow it, or set deletionPolicy to Retain"
	case kafka.TopicAlreadyExists:
		return conditions.Retrying, "the topic exists already and is looked at again"
	}
	if f.Transient {
		return conditions.Retrying, f.Action + ": " + f.Code.String() + ": it is tried again"
	}
	return conditions.Refused, text
}

// silence is nobody's answer. A creation may have been carried out all the same, so that the topic that is then found is no strange one.
func silence(f *Refusal) (reason conditions.Reason, message string) {
	if f.Action == CreateAction {
		return conditions.Creating, "the brokers did not answer whether they create the topic: it is looked for"
	}
	return conditions.Retrying, f.Action + ": the brokers did not answer: it is tried again"
}

// The kinds of actions that change something in the cluster, as refusals name them.
const (
	CreateAction   = "create the topic"
	GrowAction     = "add partitions"
	AlterAction    = "change settings"
	ReassignAction = "change the replication factor"
	DeleteAction   = "delete the topic"
)

// Kind is the kind of an action, empty for one that changes nothing in the cluster.
func Kind(a Action) string {
	switch a.(type) {
	case Create:
		return CreateAction
	case Grow:
		return GrowAction
	case Alter:
		return AlterAction
	case Reassign:
		return ReassignAction
	case Delete:
		return DeleteAction
	}
	return ""
}
