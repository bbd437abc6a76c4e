package desired

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// StatefulSet keeps one pod a broker. Which pod is replaced by one of a new template, and when, is not left to it.
func (c Cluster) StatefulSet() *appsv1.StatefulSet {
	replicas, revisions := c.Replicas, int32(10)
	whenDeleted := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if c.Spec.Storage.DeletionPolicy == v1alpha1.Delete && !c.KeepClaims {
		whenDeleted = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return sealed(&appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: c.meta(c.Name),
		Spec: appsv1.StatefulSetSpec{
			Replicas:            &replicas,
			ServiceName:         BrokersService(c.Name),
			Selector:            &metav1.LabelSelector{MatchLabels: Selector(c.Name)},
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			// A broker's volume is deleted after the broker was taken out of the cluster, never by a change of a number.
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: whenDeleted,
				WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
			},
			RevisionHistoryLimit: &revisions,
			Template:             c.podTemplate(),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{c.claim()},
		},
	})
}

func (c Cluster) claim() corev1.PersistentVolumeClaim {
	mode := corev1.PersistentVolumeFilesystem
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: claimTemplate, Labels: labels(c.Name), Annotations: map[string]string{QuorumAnnotation: quorumText(c.Quorum)},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			VolumeMode:       &mode,
			StorageClassName: c.Spec.Storage.StorageClassName,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: c.ClaimSize}},
		},
	}
}

// TemplateSize is the size of the volumes that a StatefulSet makes.
func TemplateSize(s *appsv1.StatefulSet) (resource.Quantity, bool) {
	for _, t := range s.Spec.VolumeClaimTemplates {
		if t.Name == claimTemplate {
			q, ok := t.Spec.Resources.Requests[corev1.ResourceStorage]
			return q, ok
		}
	}
	return resource.Quantity{}, false
}
