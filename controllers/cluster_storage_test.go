package controllers

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
	"github.com/fairlead-io/fairlead/test/kubetest"
)

// Volumes grow while brokers run, the template of new ones follows, and one that was made larger by hand is left alone.
func TestC49VolumesGrow(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	s.operator()
	s.cluster("c", 3, s.class("grows", true))
	s.awaitReady("c")
	before := s.uids("c")
	set := s.statefulSet("c").UID

	s.resize("c", "2Gi")
	s.awaitReady("c")
	for id := range int32(3) {
		if c := s.claim("c", id); c.Status.Capacity.Storage().String() != "2Gi" {
			t.Errorf("%s has %s", c.Name, c.Status.Capacity.Storage())
		}
	}
	s.awaitTemplate("c", "2Gi")
	if s.statefulSet("c").UID == set {
		t.Error("the template of a StatefulSet was changed in place")
	}
	s.sameUIDs("c", before)

	s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Replicas = 4 })
	s.awaitReady("c")
	if c := s.claim("c", 3); c.Status.Capacity.Storage().String() != "2Gi" {
		t.Errorf("a new volume has %s", c.Status.Capacity.Storage())
	}

	byHand := s.claim("c", 0)
	patch := client.MergeFrom(byHand.DeepCopy())
	byHand.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("3Gi")
	if err := s.kube.Patch(t.Context(), byHand, patch); err != nil {
		t.Fatal(err)
	}
	s.awaitCondition("c", "StorageReady", metav1.ConditionTrue, string(conditions.LargerThanWanted), "data-c-0")
	kubetest.Await(t, limit, func() error {
		if c := s.claim("c", 0); c.Status.Capacity.Storage().String() != "3Gi" {
			return errString(c.Status.Capacity.Storage().String())
		}
		return nil
	})
	s.awaitReady("c")
	s.idle("c")
	s.sameUIDs("c", before)
}

// A class that does not let volumes grow is named, no pod is touched, and other changes go on.
func TestC49VolumesThatCannotGrow(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	s.operator()
	s.cluster("c", 1, s.class("fixed", false))
	s.awaitReady("c")
	before := s.uids("c")
	s.resize("c", "2Gi")
	s.awaitCondition("c", "StorageReady", metav1.ConditionFalse, string(conditions.CannotExpand), "fixed")
	s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Config = map[string]string{"log.retention.ms": "1000"} })
	s.awaitSetting("c", "log.retention.ms", "1000")
	s.sameUIDs("c", before)
	if c := s.claim("c", 0); c.Spec.Resources.Requests.Storage().String() != "1Gi" {
		t.Errorf("asked for: %s", c.Spec.Resources.Requests.Storage())
	}
}

// A broker that holds something stays, and the rest of the spec is carried out; one that holds nothing goes and is forgotten.
func TestC46ScaleIn(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	s.operator()
	s.cluster("c", 4, func(c *v1alpha1.Cluster) { c.Spec.Storage.DeletionPolicy = v1alpha1.Delete })
	s.awaitReady("c")
	d := s.double("c")
	d.do(nil, func(d *double) { d.holds[3] = 7 })
	s.edit("c", func(c *v1alpha1.Cluster) {
		c.Spec.Replicas, c.Spec.Config = 3, map[string]string{"log.retention.ms": "1000"}
	})
	s.awaitCondition("c", "Progressing", metav1.ConditionFalse, string(conditions.ScaleInBlocked), "broker 3 holds 7 replicas")
	s.awaitSetting("c", "log.retention.ms", "1000")
	s.awaitPasses("c", 3)
	if s.pods("c")["c-3"] == nil {
		t.Fatal("broker 3 is gone with its replicas")
	}
	d.do(nil, func(d *double) { d.holds[3] = 0 })
	s.awaitReady("c")
	registered, _ := d.Registered(t.Context())
	if pods := s.pods("c"); len(pods) != 3 || pods["c-3"] != nil || len(registered) != 3 {
		t.Errorf("%d pods, %d brokers registered", len(pods), len(registered))
	}
	claim := &corev1.PersistentVolumeClaim{}
	err := s.kube.Get(t.Context(), client.ObjectKey{Namespace: s.ns, Name: "data-c-3"}, claim)
	if err == nil && claim.DeletionTimestamp == nil {
		t.Error("the volume of the broker that is gone was kept, against the policy Delete")
	}
}

// The volumes of voters stay whatever becomes of the number of brokers: a voter cannot go.
func TestC46VotersStay(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	s.operator()
	s.cluster("c", 3)
	s.awaitReady("c")
	before := s.uids("c")
	s.edit("c", func(c *v1alpha1.Cluster) { c.Spec.Replicas = 1 })
	s.awaitCondition("c", "Progressing", metav1.ConditionFalse, string(conditions.ScaleInBlocked), "vote")
	s.awaitPasses("c", 3)
	s.sameUIDs("c", before)
}

// Volumes that are kept tell the next Cluster of the name that their quorum was formed.
func TestClaimsAreMarkedWhenTheQuorumIsFormed(t *testing.T) {
	s := newStage(t)
	s.clusterWide()
	s.operator()
	s.cluster("c", 1)
	s.awaitReady("c")
	c := s.get("c")
	q, ok := desired.ClaimQuorum(s.claim("c", 0))
	if !ok || !equality.Semantic.DeepEqual(&q, c.Status.Quorum) {
		t.Errorf("the claim has %+v, recorded is %+v", q, c.Status.Quorum)
	}
}

// class makes a storage class of this test's own and has the Cluster use it.
func (s *stage) class(name string, grows bool) func(*v1alpha1.Cluster) {
	s.Helper()
	name += "-" + s.ns
	s.create(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "example.com/none", AllowVolumeExpansion: &grows})
	return func(c *v1alpha1.Cluster) { c.Spec.Storage.StorageClassName = &name }
}

func (s *stage) resize(cluster, size string) {
	s.Helper()
	s.edit(cluster, func(c *v1alpha1.Cluster) { c.Spec.Storage.Size = resource.MustParse(size) })
}

func (s *stage) claim(cluster string, id int32) *corev1.PersistentVolumeClaim {
	s.Helper()
	c := &corev1.PersistentVolumeClaim{}
	s.read(desired.Claim(cluster, id), c)
	return c
}

func (s *stage) awaitTemplate(cluster, size string) {
	s.Helper()
	kubetest.Await(s.T, limit, func() error {
		q, _ := desired.TemplateSize(s.statefulSet(cluster))
		if q.String() != size {
			return fmt.Errorf("the template has %s", q.String())
		}
		return nil
	})
}
