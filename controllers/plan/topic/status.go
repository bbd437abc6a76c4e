package topic

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/conditions"
)

// report is a status in the making.
type report struct {
	status     v1alpha1.TopicStatus // but for its conditions, which are those of before
	offline    []int                // partitions of the topic that was found
	behind     behind               // of that topic
	conditions map[conditions.Type]metav1.Condition
	now        time.Time
}

// begin takes over the status that is there: what is not known now stays as it was seen last.
func begin(s Snapshot) *report {
	r := &report{status: *s.Topic.Status.DeepCopy(), conditions: map[conditions.Type]metav1.Condition{}, now: s.Now}
	for _, t := range []conditions.Type{conditions.Ready, conditions.Replicated, conditions.Adopted} {
		if c := conditions.Get(r.status.Conditions, t); c != nil {
			r.conditions[t] = *c
		}
	}
	r.status.ObservedGeneration = s.Topic.Generation
	r.status.TopicName = Name(s.Topic)
	return r
}

// done is the status.
func (r *report) done() v1alpha1.TopicStatus {
	var now []metav1.Condition
	for _, c := range r.conditions {
		now = append(now, c)
	}
	out := r.status
	out.Conditions = conditions.Merge(conditions.Topic, r.status.Conditions, now, r.status.ObservedGeneration, r.now)
	return out
}

// see takes over what was found.
func (r *report) see(f *Found) {
	st := &r.status
	st.TopicID = f.ID.String()
	st.Partitions, st.ReplicationFactor = int32(len(f.Partitions)), 0
	r.offline, r.behind = nil, behind{}
	for i, p := range f.Partitions {
		if n := int32(len(p.target())); i == 0 || n < st.ReplicationFactor {
			st.ReplicationFactor = n
		}
		r.behind.add(i, p)
		if p.Leader < 0 {
			r.offline = append(r.offline, i)
		}
	}
	st.Offline, st.UnderReplicated = new(int32(len(r.offline))), new(int32(len(r.behind.partitions)))
}

// forget is for a topic that does not exist.
func (r *report) forget() {
	st := &r.status
	st.Settings = nil
	st.TopicID, st.Partitions, st.ReplicationFactor, st.UnderReplicated, st.Offline = "", 0, 0, nil, nil
	r.offline, r.behind = nil, behind{}
	delete(r.conditions, conditions.Replicated)
	delete(r.conditions, conditions.Adopted)
}

// set sets a condition.
func (r *report) set(t conditions.Type, reason conditions.Reason, format string, args ...any) {
	r.conditions[t] = conditions.New(conditions.Topic, t, reason, fmt.Sprintf(format, args...))
}

// ready sets the condition Ready.
func (r *report) ready(reason conditions.Reason, format string, args ...any) {
	r.set(conditions.Ready, reason, format, args...)
}

// replicated sets Replicated by what was found, of a topic whose number of replicas is as wanted.
func (r *report) replicated() {
	if n := len(r.behind.partitions); n > 0 {
		r.set(conditions.Replicated, conditions.UnderReplicated, "%d of %d partitions have replicas that are not in sync: %s", n, r.status.Partitions, &r.behind)
		return
	}
	r.set(conditions.Replicated, conditions.InSync, "every replica is in sync")
}

// serves sets Ready of a topic that is as the spec says.
func (r *report) serves() {
	if n := len(r.offline); n > 0 {
		r.ready(conditions.Offline, "%d of %d partitions have no leader, nobody can write or read them: %s", n, r.status.Partitions, some(r.offline))
		return
	}
	if n := len(r.behind.partitions); n > 0 {
		r.ready(conditions.Applied, "the topic is as the spec says; %d of %d partitions are under-replicated", n, r.status.Partitions)
		return
	}
	r.ready(conditions.Applied, "the topic is as the spec says")
}
