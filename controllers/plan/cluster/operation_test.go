package cluster

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/fact"
)

// outdated is a snapshot of three healthy brokers, led by broker 0, that are all to be restarted. The verdicts allow everything: what keeps a
// plan from stopping a broker is its own rules.
func outdated(t *testing.T) Snapshot {
	t.Helper()
	w := converged(t, 3)
	w.edit(image("fairlead:2"))
	w.apply(Apply{templateOf(w)})
	s := w.snapshot()
	for id := range int32(3) {
		s.Verdicts[id] = fact.Known(adminapi.Verdict{Brokers: []int32{id}, Safe: true})
	}
	return s
}

func templateOf(w *world) desired.Object {
	s := newTurn(w.snapshot())
	config(s)
	scale(s)
	return s.want.StatefulSet()
}

func (s *Snapshot) podOf(id int32) *metav1.ObjectMeta { return &s.Pods[id].ObjectMeta }

// isNew makes a broker's pod one of the wanted revision.
func (s *Snapshot) isNew(id int32) {
	s.podOf(id).Annotations[desired.RestartHashAnnotation] = s.Objects.StatefulSet.Spec.Template.Annotations[desired.RestartHashAnnotation]
}

func (s *Snapshot) unsafe(id int32) {
	s.Verdicts[id] = fact.Known(adminapi.Verdict{Brokers: []int32{id}, Total: 1})
}

// crash is a pod whose process has ended.
func (s *Snapshot) crash(id int32) {
	c := &s.Pods[id].Status.ContainerStatuses[0]
	c.State.Running, c.State.Waiting = nil, waitingFor(crashLoop)
	s.Pods[id].Status.Conditions = nil
	delete(s.Brokers, id)
}

func (s *Snapshot) joining(id int32) {
	s.Pods[id].Status.Conditions = nil
	s.say(id, func(r *adminapi.Readiness) {
		r.Ready, r.CaughtUp, r.Phase, r.IsQuorumLeader = false, false, adminapi.Joining, false
	})
}

const nobody = -1

func TestWhichBrokerIsRestartedNext(t *testing.T) {
	for _, r := range []struct {
		what   string
		change func(s *Snapshot)
		want   int32
	}{
		{"the lowest that does not lead the quorum", func(*Snapshot) {}, 1},
		{"the next one that may be stopped", func(s *Snapshot) { s.unsafe(1) }, 2},
		{"not the leader while another is left, though that one may not be stopped", func(s *Snapshot) { s.unsafe(1); s.unsafe(2) }, nobody},
		{"the leader when the others are done", func(s *Snapshot) { s.isNew(1); s.isNew(2) }, 0},
		{"nobody, when a verdict is unknown", func(s *Snapshot) { s.Verdicts = nil }, nobody},
		{"nobody, when a verdict is on other brokers", func(s *Snapshot) {
			for id := range s.Verdicts {
				s.Verdicts[id] = fact.Known(adminapi.Verdict{Brokers: []int32{7}, Safe: true})
			}
		}, nobody},
		{"nobody while a new pod is not ready", func(s *Snapshot) { s.isNew(2); s.joining(2) }, nobody},
		{"nobody while a new pod fails", func(s *Snapshot) { s.isNew(2); s.crash(2) }, nobody},
		{"nobody while a new pod cannot be asked", func(s *Snapshot) { s.isNew(2); delete(s.Brokers, 2) }, nobody},
		{"nobody while a pod is missing", func(s *Snapshot) { s.Pods = s.Pods[:2] }, nobody},
		{"nobody while a pod is being deleted", func(s *Snapshot) { s.podOf(2).DeletionTimestamp = &metav1.Time{Time: s.Now} }, nobody},
		{"an old pod that is not ready before the others", func(s *Snapshot) { s.joining(2) }, 2},
		{"nobody, if the old pod that is not ready may not be stopped", func(s *Snapshot) { s.joining(2); s.unsafe(2) }, nobody},
		{"an old pod that does not answer, by the verdict of others", func(s *Snapshot) { delete(s.Brokers, 2) }, 2},
		{"an old pod that does not run before all others, without a verdict", func(s *Snapshot) { s.crash(2); s.unsafe(2) }, 2},
		{"an old pod that does not run, also while a new one fails", func(s *Snapshot) { s.isNew(1); s.crash(1); s.crash(2) }, 2},
		{"an old pod that does not run, though nothing is known of brokers", func(s *Snapshot) { s.crash(2); s.Brokers, s.Verdicts = nil, nil }, 2},
		{"not by the kubelet's word alone: a pod that is said not to run answers, and may not be stopped", func(s *Snapshot) {
			said := s.Brokers[2]
			s.crash(2)
			s.Brokers[2] = said
			s.unsafe(1)
			s.unsafe(2)
		}, nobody},
		{"a leader that does not serve before the others, who may not be stopped because of it", func(s *Snapshot) {
			s.Pods[0].Status.Conditions = nil
			s.say(0, func(r *adminapi.Readiness) { r.Ready, r.CaughtUp, r.Phase = false, false, adminapi.Recovering })
			s.unsafe(1)
			s.unsafe(2)
		}, 0},
		{"not one whose volume somebody deletes", func(s *Snapshot) { s.Claims[1].DeletionTimestamp = &metav1.Time{Time: s.Now} }, 2},
		{"nobody, when that one is left alone", func(s *Snapshot) {
			s.Claims[1].DeletionTimestamp = &metav1.Time{Time: s.Now}
			s.isNew(0)
			s.isNew(2)
		}, nobody},
		{"one broker, though another is somewhat behind: that is in the verdict", func(s *Snapshot) { s.say(2, func(r *adminapi.Readiness) { r.CaughtUp = false }) }, 1},
		{"nobody before the template is as wanted", func(s *Snapshot) {
			s.Objects.StatefulSet = s.Objects.StatefulSet.DeepCopy()
			s.Objects.StatefulSet.Spec.Template.Annotations[desired.RestartHashAnnotation] = "old"
			s.crash(2)
		}, nobody},
		{"nobody before the files are as wanted", func(s *Snapshot) {
			s.Objects.ConfigMap = s.Objects.ConfigMap.DeepCopy()
			s.Objects.ConfigMap.Data["broker.properties"] += "x=y\n"
			s.crash(2)
		}, nobody},
		{"nobody while there is no StatefulSet", func(s *Snapshot) { s.Objects.StatefulSet = nil; s.crash(2) }, nobody},
	} {
		s := outdated(t)
		r.change(&s)
		p := Compute(s)
		got := int32(nobody)
		if op := p.Status.Operation; op != nil {
			got = op.Broker
			if op.Type != v1alpha1.Roll || types.UID(op.PodUID) != s.podOf(got).UID || p.LookAgain != Soon {
				t.Errorf("%s: %+v, next look after %v", r.what, op, p.LookAgain)
			}
		}
		if got != r.want {
			t.Errorf("%s: %d, want %d: %s", r.what, got, r.want, conditions.Get(p.Status.Conditions, conditions.Progressing).Message)
		}
		if slices.ContainsFunc(p.Actions, Disruptive) {
			t.Errorf("%s: %v", r.what, p.Actions)
		}
	}
}

func TestWhatBecomesOfARecordedRestart(t *testing.T) {
	const done, waits, dropped = "done", "waits", "dropped"
	for _, r := range []struct {
		what   string
		change func(s *Snapshot)
		want   string
	}{
		{"the pod is deleted", func(*Snapshot) {}, done},
		{"it is being deleted", func(s *Snapshot) { s.podOf(1).DeletionTimestamp = &metav1.Time{Time: s.Now} }, waits},
		{"there is none yet", func(s *Snapshot) { s.Pods = slices.Delete(s.Pods, 1, 2) }, waits},
		{"the new one is not ready", func(s *Snapshot) { s.podOf(1).UID = "new"; s.isNew(1); s.joining(1) }, waits},
		{"the new one is not in sync yet", func(s *Snapshot) {
			s.podOf(1).UID = "new"
			s.isNew(1)
			s.say(1, func(r *adminapi.Readiness) { r.CaughtUp = false })
		}, waits},
		{"what is not in sync in the new one has no leader: the next is recorded", func(s *Snapshot) {
			s.podOf(1).UID = "new"
			s.isNew(1)
			s.say(1, func(r *adminapi.Readiness) { r.CaughtUp, r.OutOfSync = false, 2 })
			m, _ := s.Metadata.Get()
			m.Offline = 2
			s.Metadata = fact.Known(m)
		}, "2"},
		{"more than that is not in sync", func(s *Snapshot) {
			s.podOf(1).UID = "new"
			s.isNew(1)
			s.say(1, func(r *adminapi.Readiness) { r.CaughtUp, r.OutOfSync = false, 3 })
			m, _ := s.Metadata.Get()
			m.Offline = 2
			s.Metadata = fact.Known(m)
		}, waits},
		{"the new one cannot be asked", func(s *Snapshot) { s.podOf(1).UID = "new"; s.isNew(1); delete(s.Brokers, 1) }, waits},
		{"the new one fails", func(s *Snapshot) { s.podOf(1).UID = "new"; s.isNew(1); s.crash(1) }, waits},
		{"the new one is ready and in sync: the next is recorded", func(s *Snapshot) { s.podOf(1).UID = "new"; s.isNew(1) }, "2"},
		{"the new one is old again: it is recorded again before it is deleted", func(s *Snapshot) { s.podOf(1).UID = "new" }, "1"},
		{"another one does not run: its turn is first", func(s *Snapshot) { s.crash(2) }, "2"},
		{"another one does not run while this one does not come back", func(s *Snapshot) {
			s.podOf(1).UID = "new"
			s.isNew(1)
			s.joining(1)
			s.crash(2)
		}, "2"},
		{"it may no longer be stopped", func(s *Snapshot) { s.unsafe(1); s.unsafe(2) }, dropped},
		{"its node does not answer any more", func(s *Snapshot) {
			s.podOf(1).DeletionTimestamp = &metav1.Time{Time: s.Now}
			s.Pods[1].Status.Conditions = nil
			s.Nodes["node-1"] = fact.Known(lostNode("node-1"))
			s.unsafe(2)
		}, dropped},
		{"there is no such broker any more", func(s *Snapshot) { s.Cluster.Status.Operation.Broker = 70; s.unsafe(1); s.unsafe(2) }, dropped},
		{"it is of another release", func(s *Snapshot) { s.Cluster.Status.Operation.Type = "Reformat"; s.unsafe(1); s.unsafe(2) }, dropped},
	} {
		s := outdated(t)
		s.Cluster.Status.Operation = &v1alpha1.Operation{Type: v1alpha1.Roll, Broker: 1, PodUID: string(s.podOf(1).UID)}
		r.change(&s)
		p := Compute(s)
		got := dropped
		if op := p.Status.Operation; op != nil {
			got = waits
			if *op != *s.Cluster.Status.Operation {
				got = string('0' + op.Broker)
			}
		}
		for _, a := range p.Actions {
			if d, ok := a.(DeletePod); ok {
				if got = done; d.Name != "a-1" || d.UID != s.podOf(1).UID || p.Status.Operation == nil {
					t.Errorf("%s: %v", r.what, p.Actions)
				}
			}
		}
		if got != r.want {
			t.Errorf("%s: %s, want %s: %+v", r.what, got, r.want, p.Status.Operation)
		}
	}
}

func TestCandidatesAreAskedAboutOnlyWhenOneCouldBeStopped(t *testing.T) {
	s := outdated(t)
	if got := Candidates(s); !slices.Equal(got, []int32{1, 2}) {
		t.Errorf("%v", got)
	}
	s.isNew(1)
	s.joining(1)
	if got := Candidates(s); got != nil {
		t.Errorf("%v, though broker 1 is not ready", got)
	}
	s = outdated(t)
	s.Cluster.Spec.Paused = true
	if got := Candidates(s); got != nil {
		t.Errorf("%v of a paused Cluster", got)
	}
	if got := Candidates(converged(t, 3).snapshot()); got != nil {
		t.Errorf("%v of a converged Cluster", got)
	}
}
