package topic

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Name is the name in Kafka of a Topic's topic.
func Name(t *v1alpha1.Topic) string {
	if t.Spec.TopicName != "" {
		return t.Spec.TopicName
	}
	return t.Name
}

// internalTopics are the brokers' own.
var internalTopics = []string{"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}

// Compute plans. It is a function of the snapshot alone.
func Compute(s Snapshot) Plan {
	if s.Last.Generation != s.Topic.Generation {
		s.Last = Last{Generation: s.Topic.Generation, Created: s.Last.Created}
	}
	r := begin(s)
	if !s.Topic.DeletionTimestamp.IsZero() {
		return planDeletion(s, r)
	}
	if reason, message := unfit(s); reason != "" {
		r.notReady(reason, "%s", message)
		r.drop(ConditionReplicated)
		return Plan{Actions: finalizer(s, false), Status: r.TopicStatus, LookAgain: Steady}
	}
	if wait := absentCluster(s, r); wait != nil {
		return *wait
	}
	p := planTopic(s, r)
	if !s.Cluster.Spec.Paused {
		p.Actions = append(finalizer(s, s.Topic.Spec.DeletionPolicy == v1alpha1.Delete), p.Actions...)
	}
	return p
}

// unfit tells why nothing can ever be done for the Topic as it is: a reason and a message, or nothing.
func unfit(s Snapshot) (reason, message string) {
	name := Name(s.Topic)
	switch winner := older(s); {
	case !kafka.ValidTopicName(name):
		return ReasonInvalidName, "a topic's name is 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-', and neither '.' nor '..': make another Topic, with spec.topicName"
	case slices.Contains(internalTopics, name):
		return ReasonInternalTopic, name + " is the brokers' own: no Topic describes it"
	case winner != "":
		return ReasonConflict, "Topic " + winner + " is older and describes topic " + name + " of the same cluster: delete one of them"
	}
	return "", ""
}

// older names the oldest rival that is older than the Topic, by time and then by name. One that is being deleted is none.
func older(s Snapshot) string {
	winner := s.Topic
	for i := range s.Rivals {
		if o := &s.Rivals[i]; o.DeletionTimestamp.IsZero() && before(o, winner) {
			winner = o
		}
	}
	if winner == s.Topic {
		return ""
	}
	return winner.Name
}

func before(a, b *v1alpha1.Topic) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return strings.Compare(a.Name, b.Name) < 0
}

// finalizer makes the finalizer be there or not.
func finalizer(s Snapshot, want bool) []Action {
	has := slices.Contains(s.Topic.Finalizers, Finalizer)
	switch {
	case want && !has:
		return []Action{Hold{}}
	case !want && has:
		return []Action{Release{}}
	}
	return nil
}

// absentCluster is the plan for a Topic whose Cluster cannot be asked anything; nil when it can.
func absentCluster(s Snapshot, r *report) *Plan {
	name := s.Topic.Spec.ClusterRef.Name
	switch {
	case s.Cluster == nil:
		r.notReady(ReasonClusterMissing, "there is no Cluster %s in this namespace", name)
	case !s.Cluster.DeletionTimestamp.IsZero():
		r.notReady(ReasonClusterDeleting, "Cluster %s is being deleted", name)
	default:
		return nil
	}
	r.drop(ConditionReplicated)
	return &Plan{Status: r.TopicStatus, LookAgain: Steady}
}

// planTopic plans for a Topic whose Cluster is there.
func planTopic(s Snapshot, r *report) Plan {
	found, known := s.Found.Get()
	if !known {
		return unreachable(s, r)
	}
	var p Plan
	switch {
	case found == nil:
		p = planCreation(s, r)
	case found.Internal:
		r.notReady(ReasonInternalTopic, "%s is the brokers' own: no Topic describes it", Name(s.Topic))
		return Plan{Status: r.TopicStatus, LookAgain: Steady}
	default:
		p = planChanges(s, r, found)
	}
	return hindered(s, r, p)
}

// unreachable is the plan while the cluster does not answer. A short silence is not worth a word.
func unreachable(s Snapshot, r *report) Plan {
	if !s.HeardAt.IsZero() && s.Now.Sub(s.HeardAt) < Patience && s.Topic.Status.ObservedGeneration == s.Topic.Generation {
		return Plan{Status: s.Topic.Status, LookAgain: Retry}
	}
	name := s.Cluster.Name
	r.set(ConditionReady, metav1.ConditionUnknown, ReasonClusterUnreachable, "no broker of Cluster %s answers: its conditions say more", name)
	if r.index(ConditionReplicated) >= 0 {
		r.set(ConditionReplicated, metav1.ConditionUnknown, ReasonUnknown, "no broker of Cluster %s answers", name)
	}
	return Plan{Status: r.TopicStatus, LookAgain: Retry}
}

func planCreation(s Snapshot, r *report) Plan {
	c := Create{Topic: Name(s.Topic), Partitions: -1, Replicas: -1, Settings: s.Topic.Spec.Config}
	if n := s.Topic.Spec.Partitions; n != nil {
		c.Partitions = *n
	}
	if n := s.Topic.Spec.ReplicationFactor; n != nil {
		c.Replicas = *n
	}
	p := Plan{Actions: []Action{c}, LookAgain: soon(s)}
	if id := r.TopicID; id != "" {
		p.Actions = append(p.Actions, Event{true, EventRecreated, "topic " + c.Topic + " (" + id + ") was deleted by other means: it is made again, empty"})
	}
	r.forget()
	r.notReady(ReasonCreating, "the topic is being created")
	if s.Last.Created && s.Last.Unsettled < notSeen {
		p.Actions = nil
	}
	p.Status = r.TopicStatus
	return p
}

// planChanges plans for a topic that exists.
func planChanges(s Snapshot, r *report, found *Found) Plan {
	events := recognize(s, r, found)
	p := Plan{LookAgain: Steady}
	if reason, message := impossible(s, found); reason != "" {
		r.notReady(reason, "%s", message)
		r.replicated()
		p.Actions, p.Status = events, r.TopicStatus
		return p
	}
	name := Name(s.Topic)
	if n := s.Topic.Spec.Partitions; n != nil && int(*n) > len(found.Partitions) {
		p.Actions = append(p.Actions, Grow{name, *n})
	}
	if a, differ := alter(name, s.Topic.Spec.Config, found.Settings); differ {
		p.Actions = append(p.Actions, a)
		if s.Topic.Status.ObservedGeneration == s.Topic.Generation && wasReady(s.Topic) {
			events = append(events, Event{false, EventCorrected, "settings of topic " + name + " were changed by other means and are put right:" + settings(a.Set, a.Remove)[1:]})
		}
	}
	if len(p.Actions) > 0 {
		r.notReady(ReasonUpdating, "the topic is being brought in line with the spec")
		r.replicated()
		p.LookAgain = soon(s)
	} else {
		p = planReplication(s, r, found)
	}
	p.Actions = append(p.Actions, events...)
	p.Status = r.TopicStatus
	return p
}

// recognize takes over what was found, and tells whether it is the topic that the status is about.
func recognize(s Snapshot, r *report, found *Found) []Action {
	var events []Action
	name, old, is := Name(s.Topic), r.TopicID, found.ID.String()
	switch {
	case old == is:
	case old != "":
		events = append(events, Event{true, EventReplaced, "topic " + name + " was deleted and made again by other means: its id was " + old + " and is " + is})
	case r.reason(ConditionReady) != ReasonCreating:
		r.set(ConditionAdopted, metav1.ConditionTrue, ReasonTopicExisted, "the topic existed before this object, which describes it from now on")
	}
	r.see(found)
	return events
}

func wasReady(t *v1alpha1.Topic) bool {
	return slices.ContainsFunc(t.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == ConditionReady && c.Status == metav1.ConditionTrue
	})
}

// soon is when to look for what was begun: with each look that does not see it later.
func soon(s Snapshot) time.Duration {
	const most = 5 // doublings, beyond Retry
	return min(Soon<<min(s.Last.Unsettled, most), Retry)
}
