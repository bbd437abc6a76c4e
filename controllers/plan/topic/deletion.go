package topic

import (
	"slices"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/conditions"
)

// planDeletion plans for a Topic that is being deleted. Without the finalizer there is nothing to do: the object is held by others.
func planDeletion(s Snapshot, r *report) Plan {
	if !slices.Contains(s.Topic.Finalizers, Finalizer) {
		return Plan{Status: s.Topic.Status}
	}
	name := Name(s.Topic)
	switch {
	case lets(s):
		p := Plan{Actions: []Action{Release{}}, Status: s.Topic.Status}
		if heir := heir(s); heir != "" {
			p.Actions = []Action{Event{false, EventLeft, "topic " + name + " stays: Topic " + heir + " describes it, too"}, Release{}}
		}
		return p
	case s.Cluster.Spec.Paused:
		r.ready(conditions.ClusterPaused, "Cluster %s is paused: the topic is deleted when it goes on", s.Cluster.Name)
		return Plan{Status: r.done(), LookAgain: Steady}
	}
	found, known := s.Found.Get()
	if !known {
		r.ready(conditions.ClusterNotReady,
			"the topic is to be deleted, and no broker of Cluster %s answers: it is deleted when one does, or let go when the Cluster is deleted", s.Cluster.Name)
		return Plan{Status: r.done(), LookAgain: Retry}
	}
	if found != nil && found.Internal {
		return Plan{Actions: []Action{Release{}}, Status: s.Topic.Status}
	}
	// Also of a topic that is not found: whoever was asked may be behind, the controller's word counts.
	del := Delete{Topic: name}
	if found != nil {
		del.ID = found.ID
	}
	r.ready(conditions.Deleting, "the topic is being deleted")
	p := Plan{Actions: []Action{del, Event{false, EventDeleted, "topic " + name + " is deleted"}, Release{}}, Status: r.done(), LookAgain: soon(s), Begun: true}
	if found == nil {
		p.Actions = []Action{del, Release{}}
	}
	return hindered(s, r, p)
}

// lets tells whether a Topic that is being deleted is let go, whatever the cluster has.
func lets(s Snapshot) bool {
	name := Name(s.Topic)
	return s.Topic.Spec.DeletionPolicy != v1alpha1.Delete ||
		s.Cluster == nil || !s.Cluster.DeletionTimestamp.IsZero() ||
		!kafka.ValidTopicName(name) || slices.Contains(internalTopics, name) ||
		heir(s) != ""
}

// heir names another Topic that describes the topic and lives on.
func heir(s Snapshot) string {
	for _, o := range s.Rivals {
		if o.DeletionTimestamp.IsZero() {
			return o.Name
		}
	}
	return ""
}
