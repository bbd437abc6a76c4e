package desired

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceAccount is the brokers' identity. They do not talk to Kubernetes, so no token is mounted.
func (c Cluster) ServiceAccount() *corev1.ServiceAccount {
	no := false
	return sealed(&corev1.ServiceAccount{
		TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta:                   c.meta(BrokersService(c.Name)),
		AutomountServiceAccountToken: &no,
	})
}
