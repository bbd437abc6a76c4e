package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// What Kubernetes' own controllers write on claims and volumes for provisioners.
const (
	selectedNode  = "volume.kubernetes.io/selected-node"
	provisionedBy = "pv.kubernetes.io/provisioned-by"
	storageBy     = "volume.kubernetes.io/storage-provisioner"
)

type provisioner struct {
	client kubernetes.Interface
	dir    string
}

func (p provisioner) claim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if claim.Annotations[storageBy] != Name || claim.DeletionTimestamp != nil {
		return nil
	}
	if claim.Spec.VolumeName == "" {
		return p.provision(ctx, claim)
	}
	if wantsMore(claim) {
		return p.grow(ctx, claim)
	}
	return nil
}

// wantsMore holds for a bound claim that asks for more than it has. The API server has refused the wish already when the
// class does not allow expansion.
func wantsMore(claim *corev1.PersistentVolumeClaim) bool {
	has := claim.Status.Capacity[corev1.ResourceStorage]
	return claim.Status.Phase == corev1.ClaimBound && has.Cmp(claim.Spec.Resources.Requests[corev1.ResourceStorage]) < 0
}

func (p provisioner) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	node := claim.Annotations[selectedNode]
	if node == "" {
		return nil // the scheduler has not placed a pod yet
	}
	name := "pvc-" + string(claim.UID)
	dir := filepath.Join(p.dir, node, name)
	// Host paths are not given to a pod's fsGroup; a folder for everybody does instead.
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		return err
	}
	_, err := p.client.CoreV1().PersistentVolumes().Create(ctx, volumeFor(claim, name, dir, node), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // not bound yet
	}
	if err == nil {
		log.Printf("volume %s for claim %s/%s on %s", name, claim.Namespace, claim.Name, node)
	}
	return err
}

func volumeFor(claim *corev1.PersistentVolumeClaim, name, dir, node string) *corev1.PersistentVolume {
	folder := corev1.HostPathDirectory
	class := ""
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	here := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedBy: Name}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			StorageClassName:              class,
			ClaimRef:                      &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir, Type: &folder}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{here}}}}},
		},
	}
}

// grow sets the volume's capacity before the claim's, so that a claim never says more than its volume has.
func (p provisioner) grow(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	volumes, claims := p.client.CoreV1().PersistentVolumes(), p.client.CoreV1().PersistentVolumeClaims(claim.Namespace)
	volume, err := volumes.Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	wanted := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	volume.Spec.Capacity[corev1.ResourceStorage] = wanted
	if _, err := volumes.Update(ctx, volume, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("grow volume %s: %w", volume.Name, err)
	}
	grown := claim.DeepCopy()
	grown.Status.Capacity[corev1.ResourceStorage] = wanted
	if _, err := claims.UpdateStatus(ctx, grown, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("tell the new capacity: %w", err)
	}
	log.Printf("volume %s of claim %s/%s has %s now", volume.Name, claim.Namespace, claim.Name, wanted.String())
	return nil
}

func (p provisioner) volume(ctx context.Context, volume *corev1.PersistentVolume) error {
	if volume.Annotations[provisionedBy] != Name || volume.Status.Phase != corev1.VolumeReleased ||
		volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete || volume.DeletionTimestamp != nil {
		return nil
	}
	if err := os.RemoveAll(volume.Spec.HostPath.Path); err != nil {
		return err
	}
	err := p.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		log.Printf("volume %s and its files are gone", volume.Name)
	}
	return err
}
