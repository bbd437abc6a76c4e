package cluster

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

// patience is how many steps a change may take in these tests.
const patience = 120

// converged is a world in which a cluster of this size was made, and holds something.
func converged(t *testing.T, brokers int32) *world {
	t.Helper()
	w := newWorld(t, brokers)
	w.run(patience)
	for id := range brokers {
		w.replicas[id] = 5
	}
	w.run(patience)
	w.log = nil
	return w
}

func (w *world) reason(typ conditions.Type) conditions.Reason {
	c := conditions.Get(w.c.Status.Conditions, typ)
	if c == nil {
		return ""
	}
	return conditions.Reason(c.Reason)
}

func (w *world) message(typ conditions.Type) string {
	c := conditions.Get(w.c.Status.Conditions, typ)
	if c == nil {
		return ""
	}
	return c.Message
}

// restarts are the pods that were deleted, in order.
func (w *world) restarts() []string {
	var pods []string
	for _, a := range w.log {
		if name, ok := strings.CutPrefix(a, "delete pod "); ok {
			name, _, _ = strings.Cut(name, ":")
			pods = append(pods, name)
		}
	}
	return pods
}

func (w *world) did(prefix string) bool {
	return slices.ContainsFunc(w.log, func(a string) bool { return strings.HasPrefix(a, prefix) })
}

func TestC50AConvergedClusterGivesNothing(t *testing.T) {
	for _, n := range []int32{1, 2, 3, 5} {
		w := converged(t, n)
		if w.reason(conditions.Ready) != conditions.AsWanted {
			t.Errorf("%d brokers: %s", n, w.summary())
		}
		for range 3 {
			w.tick()
			if p := w.step(); !w.quiet(p) {
				t.Errorf("%d brokers: %+v", n, p)
			}
		}
	}
}

func TestTheQuorumIsFoundedOnceAndRecordedFirst(t *testing.T) {
	for _, r := range []struct {
		brokers int32
		voters  int
	}{{1, 1}, {2, 1}, {3, 3}, {4, 3}, {5, 5}, {9, 5}} {
		w := newWorld(t, r.brokers)
		p := w.step()
		if q := p.Status.Quorum; q == nil || len(q.Voters) != r.voters || q.ClusterID != "fresh" || q.Formed || q.Brokers != r.brokers || len(p.Actions) != 0 || p.LookAgain != Soon {
			t.Fatalf("%d brokers: %+v", r.brokers, p)
		}
		w.run(patience)
		q := w.c.Status.Quorum
		if !q.Formed || q.ClusterID != "fresh" || len(q.Voters) != r.voters {
			t.Errorf("%d brokers: %+v", r.brokers, q)
		}
		if file := w.objects.ConfigMap.Data["cluster.properties"]; strings.Contains(file, "initial.voters") {
			t.Errorf("a formed quorum could be founded again: %s", file)
		}
	}
}

func TestAClusterOverKeptVolumesIsTheOneThatItWas(t *testing.T) {
	w := converged(t, 3)
	kept := w.claims
	again := newWorld(t, 1)
	again.claims, again.replicas, again.registered = kept, w.replicas, w.registered
	again.c.Status.Quorum = nil
	p := again.step()
	if q := p.Status.Quorum; q == nil || q.ClusterID != "fresh" || !q.Formed || len(q.Voters) != 3 || q.Brokers != 3 {
		t.Fatalf("%+v", p.Status.Quorum)
	}
	for range patience {
		again.step()
	}
	if *again.objects.StatefulSet.Spec.Replicas != 3 || again.reason(conditions.Progressing) != conditions.ScaleInBlocked {
		t.Errorf("a smaller Cluster over volumes of a larger one: %s", again.summary())
	}

	for _, c := range kept {
		c.Annotations["fairlead.io/quorum"] = "other 3 0@a,1@b,2@c 2"
		break
	}
	mixed := newWorld(t, 3)
	mixed.claims = kept
	if p := mixed.step(); p.Status.Quorum != nil || mixed.reason(conditions.Progressing) != conditions.ApplyFailed {
		t.Errorf("volumes of two clusters: %s", mixed.summary())
	}
}

// The first state of the metadata must be the same for all founders, also for one that starts after an edit.
func TestFoundersBeginWithOneMinISR(t *testing.T) {
	w := newWorld(t, 3)
	w.c.Spec.Config = map[string]string{"min.insync.replicas": "3"}
	w.step()
	w.edit(func(s *v1alpha1.ClusterSpec) { s.Config = map[string]string{"min.insync.replicas": "1"} })
	w.step()
	if file := w.objects.ConfigMap.Data["broker.properties"]; w.c.Status.Quorum.Formed || !strings.Contains(file, "min.insync.replicas=3\n") {
		t.Errorf("founders begin with %s", file)
	}
	w.run(patience)
	if file := w.objects.ConfigMap.Data["broker.properties"]; !strings.Contains(file, "min.insync.replicas=1\n") || w.settings["min.insync.replicas"] != "1" {
		t.Errorf("then what is wanted counts: %s, %v", file, w.settings)
	}
}

// A Cluster that never ran, for example with an image that does not exist, leaves its claims behind too.
func TestAFoundingThatWasGivenUpGoesOnWithTheNextCluster(t *testing.T) {
	w := newWorld(t, 3)
	w.bad["fairlead:none"] = "ErrImagePull"
	w.c.Spec.Image = "fairlead:none"
	for range patience {
		w.step()
	}
	if w.c.Status.Quorum.Formed || len(w.claims) != 3 {
		t.Fatal(w.summary())
	}
	again := newWorld(t, 3)
	again.claims = w.claims
	p := again.step()
	if q := p.Status.Quorum; q == nil || q.Formed || !equality.Semantic.DeepEqual(q, w.c.Status.Quorum) {
		t.Fatalf("%+v, and before %+v", p.Status.Quorum, w.c.Status.Quorum)
	}
	again.step()
	if file := again.objects.ConfigMap.Data["cluster.properties"]; !strings.Contains(file, "initial.voters") {
		t.Errorf("nobody founds the quorum: %s", file)
	}
	again.run(patience)
	for _, c := range again.claims {
		if q, _ := desired.ClaimQuorum(c); !q.Formed {
			t.Errorf("%s could be founded again", c.Name)
		}
	}
}

func TestAClusterIsNotFoundedBesideWhatGoesOfAnEarlierOne(t *testing.T) {
	for _, r := range []struct {
		what   string
		change func(s *Snapshot)
		waits  bool
	}{
		{"nothing is there", func(s *Snapshot) { s.Objects, s.Claims = Objects{}, nil }, false},
		{"volumes that were kept", func(s *Snapshot) { s.Objects = Objects{} }, false},
		{"our own StatefulSet, and the status was lost", func(*Snapshot) {}, false},
		{"our own StatefulSet and its claims, and the status was lost", func(s *Snapshot) {
			s.Claims[0].OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", UID: s.Objects.StatefulSet.UID}}
		}, false},
		{"a StatefulSet of an earlier Cluster", func(s *Snapshot) { s.Cluster.UID = "other" }, true},
		{"claims that go with a StatefulSet that is gone", func(s *Snapshot) {
			s.Claims[0].OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", UID: "gone"}}
			s.Objects = Objects{}
		}, true},
		{"claims that are being deleted", func(s *Snapshot) { s.Claims[0].DeletionTimestamp = &metav1.Time{Time: s.Now}; s.Objects = Objects{} }, true},
	} {
		s := converged(t, 3).snapshot()
		s.Cluster.Status = v1alpha1.ClusterStatus{}
		r.change(&s)
		p := Compute(s)
		waits := p.Status.Quorum == nil
		if waits != r.waits || waits && (len(p.Actions) != 0 || p.LookAgain != Busy) {
			t.Errorf("%s: quorum %+v, actions %v", r.what, p.Status.Quorum, p.Actions)
		}
	}
}

func TestNothingIsMadeOfADeletedCluster(t *testing.T) {
	w := converged(t, 3)
	s := w.snapshot()
	s.Cluster.DeletionTimestamp = &s.Cluster.CreationTimestamp
	s.Objects.StatefulSet = nil
	if p := Compute(s); len(p.Actions) != 0 || p.LookAgain != 0 {
		t.Errorf("%+v", p)
	}
	if ids := Candidates(s); ids != nil {
		t.Error(ids)
	}
}

func TestAPausedClusterIsLeftAsItIs(t *testing.T) {
	w := converged(t, 3)
	w.edit(func(s *v1alpha1.ClusterSpec) { s.Paused, s.Image, s.Replicas = true, "fairlead:2", 5 })
	for range 20 {
		w.step()
	}
	if len(w.log) != 0 || w.reason(conditions.Paused) != conditions.PausedByUser || w.c.Status.Operation != nil || w.c.Status.ObservedGeneration != w.c.Generation {
		t.Errorf("%s", w.summary())
	}
	w.edit(func(s *v1alpha1.ClusterSpec) { s.Paused = false })
	w.run(patience)
	if len(w.pods) != 5 || len(w.restarts()) != 3 || w.reason(conditions.Paused) != "" {
		t.Errorf("%s", w.summary())
	}
}

func TestComputeChangesNothingInItsSnapshot(t *testing.T) {
	s := outdated(t)
	s.Cluster.Spec.Replicas, s.Cluster.Spec.Storage.Size = 5, resource.MustParse("2Gi")
	s.Cluster.Spec.PodTemplate.Labels = map[string]string{"team": "shop"}
	before, err := json.Marshal([]any{s.Cluster, s.Objects, s.Pods, s.Claims})
	if err != nil {
		t.Fatal(err)
	}
	p := Compute(s)
	if len(p.Actions) < 5 {
		t.Fatalf("only %v", p.Actions)
	}
	p.Status.Quorum.Voters[0].ID = 99
	if after, _ := json.Marshal([]any{s.Cluster, s.Objects, s.Pods, s.Claims}); string(after) != string(before) {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}
