package cluster

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

// growth grows claims that are smaller than the spec, all together: brokers go on while their volumes grow, and a full disk may be why
// they do not answer. Claims are never made smaller. The StatefulSet's template follows by making the StatefulSet anew around its pods.
func growth(t *turn) {
	want := t.c.Spec.Storage.Size
	var larger, resizing []string
	for _, b := range t.brokers {
		if b.claim == nil || b.claim.DeletionTimestamp != nil {
			continue
		}
		request := b.claim.Spec.Resources.Requests[corev1.ResourceStorage]
		capacity, bound := b.claim.Status.Capacity[corev1.ResourceStorage]
		switch {
		case request.Cmp(want) > 0:
			larger = append(larger, fmt.Sprintf("%s (%s)", b.claim.Name, request.String()))
		case request.Cmp(want) < 0:
			if !bound || b.claim.Status.Phase != corev1.ClaimBound {
				continue // a claim that has no volume yet cannot grow
			}
			if t.grow(b.claim, want) {
				resizing = append(resizing, b.claim.Name)
			}
		case !bound || capacity.Cmp(request) >= 0:
		default:
			if problem := resizeProblem(b.claim); problem != "" {
				t.find(conditions.StorageReady, conditions.CannotExpand, b.claim.Name+": "+problem)
			} else {
				resizing = append(resizing, b.claim.Name)
			}
		}
	}
	if len(resizing) > 0 {
		t.within(Watchful)
		t.find(conditions.StorageReady, conditions.Resizing, strings.Join(resizing, ", ")+": growing to "+want.String())
	}
	if len(larger) > 0 {
		t.find(conditions.StorageReady, conditions.LargerThanWanted, "larger than "+want.String()+" and left alone: "+strings.Join(larger, ", "))
	}
	template(t, want)
	t.diskFull()
	if !slices.ContainsFunc(t.found, isStorage) {
		t.find(conditions.StorageReady, conditions.VolumesReady, "")
	}
}

// grow asks for a larger volume, if its class lets it grow.
func (t *turn) grow(claim *corev1.PersistentVolumeClaim, want resource.Quantity) bool {
	classes, known := t.s.StorageClasses.Get()
	if !known {
		t.find(conditions.StorageReady, conditions.ClassUnknown, "whether volumes may grow to "+want.String()+" is not known: "+why(t.s.StorageClasses))
		return false
	}
	name := ""
	if claim.Spec.StorageClassName != nil {
		name = *claim.Spec.StorageClassName
	}
	i := slices.IndexFunc(classes, func(c storagev1.StorageClass) bool { return c.Name == name })
	if i < 0 || classes[i].AllowVolumeExpansion == nil || !*classes[i].AllowVolumeExpansion {
		t.find(conditions.StorageReady, conditions.CannotExpand, fmt.Sprintf("volumes of storage class %q cannot grow to %s: it has no allowVolumeExpansion: true", name, want.String()))
		return false
	}
	t.do(GrowClaim{claim.Name, claim.UID, want}, normal("GrowingVolume", "%s grows to %s", claim.Name, want.String()))
	return true
}

// resizeProblem is what the storage system says against the growing.
func resizeProblem(claim *corev1.PersistentVolumeClaim) string {
	for _, c := range claim.Status.Conditions {
		bad := c.Type == corev1.PersistentVolumeClaimControllerResizeError || c.Type == corev1.PersistentVolumeClaimNodeResizeError
		if bad && c.Status == corev1.ConditionTrue {
			return lastLines(c.Message)
		}
	}
	switch s := claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]; s {
	case corev1.PersistentVolumeClaimControllerResizeInfeasible, corev1.PersistentVolumeClaimNodeResizeInfeasible:
		return string(s)
	}
	return ""
}

// template brings the StatefulSet's volume template in line, which cannot be changed in place: the StatefulSet is deleted without its
// pods and claims, and the next plan makes it again. Before that the claims must not be the StatefulSet's to take along.
func template(t *turn, want resource.Quantity) {
	s := t.s.Objects.StatefulSet
	if s == nil {
		return
	}
	have, ok := desired.TemplateSize(s)
	if !ok || have.Cmp(want) == 0 {
		return
	}
	t.want.ClaimSize = have
	if have.Cmp(want) > 0 {
		t.find(conditions.StorageReady, conditions.ShrinkRefused, fmt.Sprintf("volumes of %s cannot shrink to %s", have.String(), want.String()))
		return
	}
	t.want.KeepClaims = true
	if !t.makeObjects || s.DeletionTimestamp != nil || !desired.AsWanted(s, t.want.StatefulSet()) || ownsClaims(t, s.UID) {
		return // first it is told to keep them, by an apply
	}
	t.orphaning = true
	t.do(OrphanStatefulSet{s.Name, s.UID, fmt.Sprintf("its volume template has %s, wanted is %s", have.String(), want.String())})
	t.within(Busy)
}

func ownsClaims(t *turn, uid types.UID) bool {
	for i := range t.s.Claims {
		for _, r := range t.s.Claims[i].OwnerReferences {
			if r.UID == uid {
				return true
			}
		}
	}
	return false
}

// diskFull names the brokers that refuse writes for lack of space, with their volumes.
func (t *turn) diskFull() {
	var full []string
	for _, b := range t.brokers {
		if r, known := b.said.Get(); known && r.DiskFull {
			where := fmt.Sprint(b.id)
			if b.claim != nil {
				size := b.claim.Status.Capacity[corev1.ResourceStorage]
				where += " (" + b.claim.Name + ", " + size.String() + ")"
			}
			full = append(full, where)
		}
	}
	if len(full) > 0 {
		t.find(conditions.StorageReady, conditions.DiskFull,
			"disk full, writes are refused: broker "+strings.Join(full, ", ")+"; a larger spec.storage.size, a shorter retention or deleted topics help")
	}
}

func isStorage(c metav1.Condition) bool { return c.Type == string(conditions.StorageReady) }
