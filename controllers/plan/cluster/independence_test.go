package cluster

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/controllers/fact"
)

func waitingFor(reason string) *corev1.ContainerStateWaiting {
	return &corev1.ContainerStateWaiting{Reason: reason}
}

func lostNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}}}
}

func has[A Action](p Plan) (A, bool) {
	for _, a := range p.Actions {
		if found, ok := a.(A); ok {
			return found, true
		}
	}
	var none A
	return none, false
}

func applied[O desired.Object](p Plan) (O, bool) {
	for _, a := range p.Actions {
		if w, ok := a.(Apply); ok {
			if o, ok := w.Object.(O); ok {
				return o, true
			}
		}
	}
	var none O
	return none, false
}

// Actions do not depend on each other: what would is left to the plan that sees that the first was done.
func TestWhatDependsOnAnActionIsInALaterPlan(t *testing.T) {
	t.Run("the StatefulSet has new settings after the ConfigMap has them", func(t *testing.T) {
		w := converged(t, 3)
		w.edit(func(s *v1alpha1.ClusterSpec) { s.Config = map[string]string{"default.replication.factor": "2"} })
		p := w.step()
		_, files := applied[*corev1.ConfigMap](p)
		_, set := applied[*appsv1.StatefulSet](p)
		if !files || set {
			t.Errorf("%v", p.Actions)
		}
		if _, set = applied[*appsv1.StatefulSet](w.step()); !set {
			t.Errorf("%v", w.log)
		}
	})
	t.Run("brokers have a setting live after the ConfigMap remembers it", func(t *testing.T) {
		w := converged(t, 3)
		w.edit(func(s *v1alpha1.ClusterSpec) { s.Config = map[string]string{"log.retention.ms": "1"} })
		if _, altered := has[AlterSettings](w.step()); altered {
			t.Errorf("%v", w.log)
		}
		if _, altered := has[AlterSettings](w.step()); !altered {
			t.Errorf("%v", w.log)
		}
	})
	t.Run("the StatefulSet is made again after it was told to keep the claims", func(t *testing.T) {
		w := converged(t, 3)
		w.edit(func(s *v1alpha1.ClusterSpec) { s.Storage.DeletionPolicy = v1alpha1.Delete })
		w.run(patience)
		w.edit(size("2Gi"))
		if _, orphaned := has[OrphanStatefulSet](w.step()); orphaned {
			t.Errorf("%v", w.log)
		}
		if _, orphaned := has[OrphanStatefulSet](w.step()); !orphaned {
			t.Errorf("%v", w.log)
		}
	})
}

func TestTheStatefulSetIsWrittenOnlyIfItIsTheOneThatWasSeen(t *testing.T) {
	w := converged(t, 3)
	w.edit(image("fairlead:2"))
	s, ok := applied[*appsv1.StatefulSet](Compute(w.snapshot()))
	if !ok || s.ResourceVersion == "" || s.ResourceVersion != w.objects.StatefulSet.ResourceVersion {
		t.Errorf("%+v", s)
	}
}

func TestObjectsThatAreBeingDeletedAreWaitedFor(t *testing.T) {
	w := converged(t, 3)
	s := w.snapshot()
	s.Objects.BootstrapService = s.Objects.BootstrapService.DeepCopy()
	s.Objects.BootstrapService.DeletionTimestamp = &metav1.Time{Time: s.Now}
	p := Compute(s)
	if len(p.Actions) != 0 || !conditions.Is(p.Status.Conditions, conditions.Progressing, conditions.Applying) || p.LookAgain != Busy {
		t.Errorf("%v %+v", p.Actions, p.Status.Conditions)
	}
}

func TestPodsThatAreBeingDeletedAreNotPatched(t *testing.T) {
	w := converged(t, 3)
	w.edit(func(s *v1alpha1.ClusterSpec) { s.PodTemplate.Labels = map[string]string{"team": "shop"} })
	w.pods[1].going = true
	for _, a := range Compute(w.snapshot()).Actions {
		if p, ok := a.(PatchPod); ok && p.Name == "a-1" {
			t.Error(p)
		}
	}
}

func TestWhoIsUnregistered(t *testing.T) {
	for _, r := range []struct {
		what   string
		change func(w *world, s *Snapshot)
		want   bool
	}{
		{"a broker without a pod, that holds nothing", func(*world, *Snapshot) {}, true},
		{"not one that holds a replica", func(_ *world, s *Snapshot) { s.metadata(func(m *Metadata) { m.Replicas = map[int32]int{3: 1} }) }, false},
		{"not one with a vote", func(_ *world, s *Snapshot) { s.metadata(func(m *Metadata) { m.Voters = append(m.Voters, 3) }) }, false},
		{"not one with a pod", func(w *world, s *Snapshot) { s.Pods = append(s.Pods, w.pod(3, &modelPod{uid: "x", going: true})) }, false},
		{"not one that is wanted", func(_ *world, s *Snapshot) { s.Cluster.Spec.Replicas = 4 }, false},
		{"nobody while the metadata are unknown", func(_ *world, s *Snapshot) { s.Metadata = fact.Unknown[Metadata]("x") }, false},
		{"nobody while there is no StatefulSet", func(_ *world, s *Snapshot) { s.Objects.StatefulSet = nil }, false},
	} {
		w := converged(t, 3)
		w.registered[3] = true
		s := w.snapshot()
		r.change(w, &s)
		u, got := has[UnregisterBroker](Compute(s))
		if got != r.want || got && u.ID != 3 {
			t.Errorf("%s: %v", r.what, u)
		}
	}
}

// The quorum is recorded, and then the settings are made wrong before there is anything.
func TestNothingIsMadeWhileTheSettingsAreWrong(t *testing.T) {
	w := newWorld(t, 3)
	w.step()
	w.edit(func(s *v1alpha1.ClusterSpec) { s.Config = map[string]string{"num.partitions": "many"} })
	for range 3 {
		if p := w.step(); len(p.Actions) != 0 {
			t.Fatalf("%v", p.Actions)
		}
	}
	w.edit(func(s *v1alpha1.ClusterSpec) { s.Config = nil })
	w.run(patience)
}
