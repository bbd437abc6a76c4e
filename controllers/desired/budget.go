package desired

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Budget lets evictions take one broker at a time, and none while another is not ready. A broker that is not ready itself may be evicted if
// all others are: a pod that hangs does not keep its node from being emptied, one that recovers during an outage is let be.
func (c Cluster) Budget() *policyv1.PodDisruptionBudget {
	one := intstr.FromInt32(1)
	return sealed(&policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: c.meta(c.Name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &one,
			Selector:       &metav1.LabelSelector{MatchLabels: Selector(c.Name)},
		},
	})
}
