package topic

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/fact"
)

// unreachableCluster answers nobody.
func unreachableCluster(s *Snapshot) {
	s.Found, s.HeardAt = fact.Unknown[*Found]("refused"), time.Time{}
}

func TestC43ATopicIsLetGoWithoutBrokers(t *testing.T) {
	for what, change := range map[string]func(*Snapshot){
		"its Cluster is gone":          func(s *Snapshot) { s.Cluster = nil },
		"its Cluster is being deleted": func(s *Snapshot) { now := metav1.NewTime(start); s.Cluster.DeletionTimestamp = &now },
		"its Cluster goes while paused": func(s *Snapshot) {
			now := metav1.NewTime(start)
			s.Cluster.DeletionTimestamp, s.Cluster.Spec.Paused = &now, true
		},
		"its topic is kept":               func(s *Snapshot) { s.Topic.Spec.DeletionPolicy = v1alpha1.Retain },
		"its name can be no topic's":      func(s *Snapshot) { s.Topic.Spec.TopicName = "a b" },
		"its topic is the brokers' own":   func(s *Snapshot) { s.Topic.Spec.TopicName = "__consumer_offsets" },
		"its Cluster is paused, and kept": func(s *Snapshot) { s.Cluster.Spec.Paused, s.Topic.Spec.DeletionPolicy = true, v1alpha1.Retain },
	} {
		s := world(deleted, unreachableCluster, change)
		p := Compute(s)
		if len(p.Actions) != 1 || p.Actions[0] != (Release{}) || text(t, p.Status) != text(t, s.Topic.Status) {
			t.Errorf("%s: %s", what, show(p))
		}
	}
}

func TestC43ATopicWithoutTheFinalizerNeedsNothing(t *testing.T) {
	s := world(deleted, func(s *Snapshot) { s.Topic.Finalizers = []string{"other"} })
	expect(t, "held by others", s, "\nagain in 0s\n")
}

func TestC43TheTopicIsDeletedAndThenLetGo(t *testing.T) {
	expect(t, "the one that was seen", settled(found(exists(1, 1)), deleted), `
delete t `+idA.String()+`
event TopicDeleted: topic t is deleted
take the finalizer off
Ready=False Deleting: the topic is being deleted
again in 1s
`)
	expect(t, "one that is not seen, whoever was asked may be behind", world(deleted), `
delete t
take the finalizer off
Ready=False Deleting: the topic is being deleted
again in 1s
`)
}

func TestC43AClusterThatIsThereAndDoesNotAnswerKeepsTheFinalizer(t *testing.T) {
	s := settled(found(exists(1, 1)))
	deleted(&s)
	unreachableCluster(&s)
	const want = "Ready=Unknown ClusterNotReady: the topic is to be deleted, and no broker of Cluster c answers: it is deleted when one does, or let go when the Cluster is deleted\n" +
		"Replicated=True InSync: every replica is in sync\nagain in 30s\n"
	p := expect(t, "unreachable", s, "\n"+want)
	s.Topic.Status, s.Now = p.Status, s.Now.Add(time.Hour)
	if again := Compute(s); show(again) != want || text(t, again.Status) != text(t, p.Status) {
		t.Errorf("the status is not steady: %s", show(again))
	}
	found(exists(1, 1))(&s)
	if p := Compute(s); len(p.Actions) != 3 {
		t.Errorf("when it answers the topic is deleted: %s", show(p))
	}
}

func TestC43AClusterThatDoesNotDeleteTopicsSaysSo(t *testing.T) {
	s := settled(found(exists(1, 1)))
	deleted(&s)
	refused(DeleteAction, kafka.TopicDeletionDisabled, "Topic deletion is disabled.")(&s)
	p := expect(t, "disabled", s, `
Ready=False DeletionRefused: the cluster does not delete topics (delete.topic.enable=false): allow it, or set deletionPolicy to Retain
Replicated=True InSync: every replica is in sync
again in 30s
`)
	s.Topic.Status = p.Status
	s.Topic.Spec.DeletionPolicy, s.Topic.Generation = v1alpha1.Retain, 2
	if p := Compute(s); len(p.Actions) != 1 || p.Actions[0] != (Release{}) {
		t.Errorf("kept: %s", show(p))
	}
	s.Topic.Spec.DeletionPolicy, s.Now = v1alpha1.Delete, s.Now.Add(Retry)
	if p := Compute(s); len(p.Actions) != 3 {
		t.Errorf("in time it is tried again: %s", show(p))
	}
}

func TestC43APausedClusterKeepsTheTopic(t *testing.T) {
	s := settled(found(exists(1, 1)), deleted, func(s *Snapshot) { s.Cluster.Spec.Paused = true })
	if p := Compute(s); len(p.Actions) != 0 || readyOf(p).Reason != string(conditions.ClusterPaused) {
		t.Error(show(p))
	}
}

func TestC43ATopicThatAnotherTopicDescribesStays(t *testing.T) {
	heir := *world().Topic.DeepCopy()
	heir.Name = "heir"
	s := settled(found(exists(1, 1)), deleted, func(s *Snapshot) { s.Rivals = []v1alpha1.Topic{heir} })
	p := Compute(s)
	if got := show(p); !strings.HasPrefix(got, "event TopicLeft: topic t stays: Topic heir describes it, too\ntake the finalizer off\n") {
		t.Error(got)
	}
	now := metav1.NewTime(start)
	s.Rivals[0].DeletionTimestamp = &now
	if p := Compute(s); len(p.Actions) != 3 {
		t.Errorf("with both going the topic goes: %s", show(p))
	}
}
