package topic

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// report is a status in the making.
type report struct {
	v1alpha1.TopicStatus
	now time.Time
}

// begin takes over the status that is there: what is not known now stays as it was seen last.
func begin(s Snapshot) *report {
	r := &report{*s.Topic.Status.DeepCopy(), s.Now}
	r.ObservedGeneration = s.Topic.Generation
	r.TopicName = Name(s.Topic)
	return r
}

// see takes over what was found.
func (r *report) see(f *Found) {
	r.TopicID = f.ID.String()
	r.Partitions, r.ReplicationFactor = int32(len(f.Partitions)), 0
	r.UnderReplicated, r.Offline = 0, 0
	for i, p := range f.Partitions {
		if n := int32(len(p.target())); i == 0 || n < r.ReplicationFactor {
			r.ReplicationFactor = n
		}
		if slices.ContainsFunc(p.Replicas, func(id int32) bool { return !slices.Contains(p.ISR, id) && !slices.Contains(p.Adding, id) }) {
			r.UnderReplicated++
		}
		if p.Leader < 0 {
			r.Offline++
		}
	}
}

// forget is for a topic that does not exist.
func (r *report) forget() {
	r.TopicID, r.Partitions, r.ReplicationFactor, r.UnderReplicated, r.Offline = "", 0, 0, 0, 0
	r.drop(ConditionReplicated)
	r.drop(ConditionAdopted)
}

// order is that of conditions in a status.
var order = []string{ConditionReady, ConditionReplicated, ConditionAdopted}

// set sets a condition. Its time of transition changes with its status alone.
func (r *report) set(kind string, status metav1.ConditionStatus, reason, format string, args ...any) {
	c := metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...),
		ObservedGeneration: r.ObservedGeneration, LastTransitionTime: metav1.NewTime(r.now),
	}
	if i := r.index(kind); i < 0 {
		r.Conditions = append(r.Conditions, c)
		slices.SortStableFunc(r.Conditions, func(a, b metav1.Condition) int {
			return cmp.Compare(slices.Index(order, a.Type), slices.Index(order, b.Type))
		})
	} else {
		if old := r.Conditions[i]; old.Status == status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		r.Conditions[i] = c
	}
}

func (r *report) drop(kind string) {
	r.Conditions = slices.DeleteFunc(r.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
}

func (r *report) index(kind string) int {
	return slices.IndexFunc(r.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
}

// reason is that of a condition as it is now; empty when there is none.
func (r *report) reason(kind string) string {
	if i := r.index(kind); i >= 0 {
		return r.Conditions[i].Reason
	}
	return ""
}

// notReady sets Ready to False.
func (r *report) notReady(reason, format string, args ...any) {
	r.set(ConditionReady, metav1.ConditionFalse, reason, format, args...)
}

// replicated sets Replicated by what was found, of a topic whose number of replicas is as wanted.
func (r *report) replicated() {
	switch {
	case r.UnderReplicated > 0:
		r.set(ConditionReplicated, metav1.ConditionFalse, ReasonUnderReplicated,
			"%d of %d partitions have replicas that are not in sync", r.UnderReplicated, r.Partitions)
	default:
		r.set(ConditionReplicated, metav1.ConditionTrue, ReasonInSync, "every replica is in sync")
	}
}

// serves sets Ready of a topic that is as the spec says.
func (r *report) serves() {
	if r.Offline > 0 {
		r.notReady(ReasonOffline, "%d of %d partitions have no leader: nobody can write or read them", r.Offline, r.Partitions)
		return
	}
	r.set(ConditionReady, metav1.ConditionTrue, ReasonReady, "the topic is as the spec says")
}
