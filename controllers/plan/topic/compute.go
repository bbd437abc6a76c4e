package topic

import (
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/conditions"
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
		r.ready(reason, "%s", message)
		delete(r.conditions, conditions.Replicated)
		return Plan{Actions: release(s), Status: r.done(), LookAgain: Steady}
	}
	if wait := absentCluster(s, r); wait != nil {
		return *wait
	}
	p := planTopic(s, r)
	switch {
	case s.Cluster.Spec.Paused:
	case s.Topic.Spec.DeletionPolicy != v1alpha1.Delete:
		p.Actions = append(release(s), p.Actions...)
	case p.Acts() || p.Status.TopicID != "": // before there can be a topic there is nothing to wait for
		p.Actions = append(hold(s), p.Actions...)
	}
	return p
}

// unfit tells why nothing can ever be done for the Topic as it is: a reason and a message, or nothing.
func unfit(s Snapshot) (reason conditions.Reason, message string) {
	name := Name(s.Topic)
	switch winner := older(s); {
	case !kafka.ValidTopicName(name):
		return conditions.NameInvalid, "a topic's name is 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-', and neither '.' nor '..': make another Topic, with spec.topicName"
	case slices.Contains(internalTopics, name):
		return conditions.InternalTopic, name + " is the brokers' own: no Topic describes it"
	case winner != "":
		return conditions.Conflict, "Topic " + winner + " is older and describes topic " + name + " of the same cluster: delete one of them"
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

// hold has the finalizer put on where it is not.
func hold(s Snapshot) []Action {
	if slices.Contains(s.Topic.Finalizers, Finalizer) {
		return nil
	}
	return []Action{Hold{}}
}

// release has the finalizer taken off where it is.
func release(s Snapshot) []Action {
	if slices.Contains(s.Topic.Finalizers, Finalizer) {
		return []Action{Release{}}
	}
	return nil
}

// absentCluster is the plan for a Topic whose Cluster cannot be asked anything; nil when it can.
func absentCluster(s Snapshot, r *report) *Plan {
	name := s.Topic.Spec.ClusterRef.Name
	switch {
	case s.Cluster == nil:
		r.ready(conditions.ClusterNotFound, "there is no Cluster %s in this namespace", name)
	case !s.Cluster.DeletionTimestamp.IsZero():
		r.ready(conditions.ClusterDeleting, "Cluster %s is being deleted", name)
	default:
		return nil
	}
	delete(r.conditions, conditions.Replicated)
	return &Plan{Status: r.done(), LookAgain: Steady}
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
		r.ready(conditions.InternalTopic, "%s is the brokers' own: no Topic describes it", Name(s.Topic))
		return Plan{Status: r.done(), LookAgain: Steady}
	default:
		p = planChanges(s, r, found)
	}
	return hindered(s, r, p)
}

// unreachable is the plan while the cluster does not answer. A short silence is not worth a word.
func unreachable(s Snapshot, r *report) Plan {
	if !s.HeardAt.IsZero() && s.Now.Sub(s.HeardAt) < Patience && s.Topic.Status.ObservedGeneration == s.Topic.Generation {
		return Plan{Status: s.Topic.Status, LookAgain: Busy}
	}
	name := s.Cluster.Name
	r.ready(conditions.ClusterNotReady, "no broker of Cluster %s answers: its conditions say more", name)
	if _, ok := r.conditions[conditions.Replicated]; ok {
		r.set(conditions.Replicated, conditions.ClusterNotReady, "no broker of Cluster %s answers", name)
	}
	return Plan{Status: r.done(), LookAgain: Retry}
}

func planCreation(s Snapshot, r *report) Plan {
	c := Create{Topic: Name(s.Topic), Partitions: -1, Replicas: -1, Settings: s.Topic.Spec.Config}
	if n := s.Topic.Spec.Partitions; n != nil {
		c.Partitions = *n
	}
	if n := s.Topic.Spec.ReplicationFactor; n != nil {
		c.Replicas = *n
	}
	p := Plan{Actions: []Action{c}, LookAgain: soon(s), Begun: true}
	if id := r.status.TopicID; id != "" {
		p.Actions = append(p.Actions, Event{true, EventRecreated, "topic " + c.Topic + " (" + id + ") was deleted by other means: it is made again, empty"})
	}
	r.forget()
	r.ready(conditions.Creating, "the topic is being created")
	if s.Last.Created && s.Last.Unsettled < notSeen {
		p.Actions = nil
	}
	p.Status = r.done()
	return p
}

// planChanges plans for a topic that exists.
func planChanges(s Snapshot, r *report, found *Found) Plan {
	events := recognize(s, r, found)
	p := Plan{LookAgain: Steady}
	if reason, message := impossible(s, found); reason != "" {
		r.ready(reason, "%s", message)
		r.replicated()
		p.Actions, p.Status = events, r.done()
		return p
	}
	name := Name(s.Topic)
	if n := s.Topic.Spec.Partitions; n != nil && int(*n) > len(found.Partitions) {
		p.Actions = append(p.Actions, Grow{name, *n})
	}
	if a, differ := alter(name, s.Topic.Spec.Config, found.Settings, r.status.Settings); differ {
		p.Actions = append(p.Actions, a)
		if s.Topic.Status.ObservedGeneration == s.Topic.Generation && wasReady(s.Topic) {
			events = append(events, Event{false, EventCorrected, "settings of topic " + name + " were changed by other means and are put right:" + settings(a.Set, a.Remove)[1:]})
		}
	}
	if len(p.Actions) > 0 {
		r.ready(conditions.Applying, "the topic is being brought in line with the spec")
		r.replicated()
		p.LookAgain, p.Begun = soon(s), true
	} else {
		p = planReplication(s, r, found)
	}
	p.Actions = append(p.Actions, events...)
	p.Status = r.done()
	return p
}

// recognize takes over what was found, and tells whether it is the topic that the status is about.
func recognize(s Snapshot, r *report, found *Found) []Action {
	var events []Action
	name, old, is := Name(s.Topic), r.status.TopicID, found.ID.String()
	switch {
	case old == is:
	case old != "":
		events = append(events, Event{true, EventReplaced, "topic " + name + " was deleted and made again by other means: its id was " + old + " and is " + is})
	case !conditions.Is(s.Topic.Status.Conditions, conditions.Ready, conditions.Creating):
		r.set(conditions.Adopted, conditions.TopicExisted, "the topic existed before this object, which describes it from now on")
	}
	if old != is {
		r.status.Settings = nil // those of another topic
	}
	r.see(found)
	r.status.Settings = owned(s.Topic.Spec.Config, found.Settings, r.status.Settings)
	return events
}

func wasReady(t *v1alpha1.Topic) bool {
	return conditions.Is(t.Status.Conditions, conditions.Ready, conditions.Applied)
}

// soon is when to look for what was begun: with each look that does not see it later.
func soon(s Snapshot) time.Duration {
	const most = 5 // doublings, beyond Retry
	return min(Soon<<min(s.Last.Unsettled, most), Retry)
}

// Asks tells whether a plan depends on what the cluster has: if not, nobody needs to be asked.
func Asks(s Snapshot) bool {
	if s.Cluster == nil || !s.Cluster.DeletionTimestamp.IsZero() {
		return false
	}
	if s.Topic.DeletionTimestamp.IsZero() {
		reason, _ := unfit(s)
		return reason == ""
	}
	return slices.Contains(s.Topic.Finalizers, Finalizer) && !lets(s) && !s.Cluster.Spec.Paused
}
