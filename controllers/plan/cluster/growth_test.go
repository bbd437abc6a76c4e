package cluster

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

func size(s string) func(*v1alpha1.ClusterSpec) {
	return func(c *v1alpha1.ClusterSpec) { c.Storage.Size = resource.MustParse(s) }
}

func (w *world) request(id int32) string {
	q := w.claims[id].Spec.Resources.Requests[corev1.ResourceStorage]
	return q.String()
}

func (w *world) templateSize() string {
	q, _ := desired.TemplateSize(w.objects.StatefulSet)
	return q.String()
}

func TestC49VolumesGrowWithoutARestart(t *testing.T) {
	for _, policy := range []v1alpha1.DeletionPolicy{v1alpha1.Retain, v1alpha1.Delete} {
		w := converged(t, 3)
		w.edit(func(s *v1alpha1.ClusterSpec) { s.Storage.DeletionPolicy = policy })
		w.run(patience)
		w.log = nil
		w.edit(size("2Gi"))
		p := w.step()
		if len(p.Actions) == 0 || p.Actions[0].String() != "grow claim data-a-0 to 2Gi" {
			t.Errorf("volumes are not first: %v", p.Actions)
		}
		w.run(patience)
		for id := range w.claims {
			if w.request(id) != "2Gi" {
				t.Errorf("broker %d has %s", id, w.request(id))
			}
		}
		if w.templateSize() != "2Gi" || len(w.restarts()) != 0 || len(w.pods) != 3 || !w.did("delete StatefulSet a, leaving its pods") {
			t.Errorf("template %s, restarted %v, %d pods", w.templateSize(), w.restarts(), len(w.pods))
		}
		if got := w.objects.StatefulSet.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted; string(got) != string(policy) {
			t.Errorf("retention policy %s, want %s", got, policy)
		}
		w.edit(func(s *v1alpha1.ClusterSpec) { s.Replicas = 4 })
		w.run(patience)
		if w.request(3) != "2Gi" {
			t.Errorf("a new broker has %s", w.request(3))
		}
	}
}

// The StatefulSet is not deleted while claims are its to take along.
func TestC49ClaimsAreKeptBeforeTheStatefulSetIsMadeAgain(t *testing.T) {
	w := converged(t, 3)
	w.edit(func(s *v1alpha1.ClusterSpec) { s.Storage.DeletionPolicy = v1alpha1.Delete })
	w.run(patience)
	for _, c := range w.claims {
		c.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", UID: w.objects.StatefulSet.UID}}
	}
	w.edit(size("2Gi"))
	for range 10 {
		w.step()
	}
	if w.did("delete StatefulSet") || w.objects.StatefulSet.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted != "Retain" {
		t.Fatalf("%v", w.log)
	}
	for _, c := range w.claims {
		c.OwnerReferences = nil // what Kubernetes does then
	}
	w.run(patience)
	if w.templateSize() != "2Gi" {
		t.Error(w.log)
	}
}

func TestC49VolumesGrowThoughNoBrokerAnswers(t *testing.T) {
	w := converged(t, 3)
	for _, p := range w.pods {
		p.state = "CrashLoopBackOff"
	}
	w.blind = true
	w.edit(size("2Gi"))
	for range 10 {
		w.step()
	}
	if w.request(0) != "2Gi" || w.templateSize() != "2Gi" {
		t.Error(w.log)
	}
}

func TestC49WhatStandsAgainstASizeIsSaid(t *testing.T) {
	no := false
	for _, r := range []struct {
		what   string
		do     func(w *world)
		reason conditions.Reason
		text   string
		ready  bool
	}{
		{"a class that does not let volumes grow", func(w *world) {
			w.class.AllowVolumeExpansion = &no
			w.edit(size("2Gi"))
		}, conditions.CannotExpand, `volumes of storage class "disk" cannot grow to 2Gi: it has no allowVolumeExpansion: true`, false},
		{"a class that is not there", func(w *world) {
			w.class.Name = "other"
			w.edit(size("2Gi"))
		}, conditions.CannotExpand, `volumes of storage class "disk"`, false},
		{"a smaller size, by a definition without our rules", func(w *world) { w.edit(size("500Mi")) }, conditions.ShrinkRefused, "volumes of 1Gi cannot shrink to 500Mi", false},
		{"a claim that was made larger by hand", func(w *world) {
			w.claims[1].Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("3Gi")
		}, conditions.LargerThanWanted, "larger than 1Gi and left alone: data-a-1 (3Gi)", true},
	} {
		w := converged(t, 3)
		r.do(w)
		for range 10 {
			w.step()
		}
		if w.reason(conditions.StorageReady) != r.reason || !strings.Contains(w.message(conditions.StorageReady), r.text) {
			t.Errorf("%s: %s", r.what, w.summary())
		}
		if w.did("grow") || w.did("delete pod") || (w.reason(conditions.Ready) == conditions.AsWanted) != r.ready {
			t.Errorf("%s: %v %s", r.what, w.log, w.summary())
		}
		w.log = nil
		if p := w.step(); len(p.Actions) != 0 {
			t.Errorf("%s: it goes on with %v", r.what, p.Actions)
		}
		w.edit(func(s *v1alpha1.ClusterSpec) { s.Config = map[string]string{"default.replication.factor": "2"} })
		for range patience {
			w.step()
		}
		if len(w.restarts()) != 3 {
			t.Errorf("%s: another change is not carried out: %s", r.what, w.summary())
		}
	}
}

func TestC49AnUnknownClassIsWaitedFor(t *testing.T) {
	w := converged(t, 3)
	w.edit(size("2Gi"))
	s := w.snapshot()
	s.StorageClasses = unknownClasses
	p := Compute(s)
	for _, a := range p.Actions {
		if _, grows := a.(GrowClaim); grows {
			t.Error(a)
		}
	}
	if !conditions.Is(p.Status.Conditions, conditions.StorageReady, conditions.ClassUnknown) {
		t.Errorf("%+v", p.Status.Conditions)
	}
}

func TestC49WhatTheStorageSystemSaysIsPassedOn(t *testing.T) {
	w := converged(t, 3)
	w.edit(size("2Gi"))
	w.step()
	s := w.snapshot()
	s.Claims[1].Status.Capacity[corev1.ResourceStorage] = resource.MustParse("1Gi")
	s.Claims[1].Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimControllerResizeError, Status: corev1.ConditionTrue, Message: "quota\nexceeded"}}
	s.Claims[2].Status.Capacity[corev1.ResourceStorage] = resource.MustParse("1Gi")
	c := conditions.Get(Compute(s).Status.Conditions, conditions.StorageReady)
	if c.Reason != string(conditions.CannotExpand) || c.Message != "data-a-1: quota exceeded; data-a-2: growing to 2Gi" {
		t.Errorf("%+v", c)
	}
}
