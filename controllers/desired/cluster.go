package desired

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/config"
)

// Cluster is what the objects of one Cluster are made from.
type Cluster struct {
	*v1alpha1.Cluster
	Image  string          // of the brokers
	Quorum v1alpha1.Quorum // with its founders
	// Settings are the user's, which were checked.
	Settings config.Values
	// LiveSettings are the names of those that the running brokers may have, ascending.
	LiveSettings []string
	// Replicas and ClaimSize are of the StatefulSet. They follow the spec at a distance: brokers that hold something stay, and a volume
	// template cannot be changed in place.
	Replicas  int32
	ClaimSize resource.Quantity
	// KeepClaims overrides a deletion policy that would delete the volumes with the StatefulSet.
	KeepClaims bool
}

// Objects are the objects in the order in which they are applied: what others refer to comes first.
func (c Cluster) Objects() []Object {
	return []Object{c.ServiceAccount(), c.BrokersService(), c.BootstrapService(), c.ConfigMap(), c.Budget(), c.StatefulSet()}
}

// meta is the metadata of an object of this name.
func (c Cluster) meta(name string) metav1.ObjectMeta {
	yes := true
	return metav1.ObjectMeta{
		Name:      name,
		Namespace: c.Namespace,
		Labels:    labels(c.Name),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Cluster", Name: c.Name, UID: c.UID,
			Controller: &yes, BlockOwnerDeletion: &yes,
		}},
	}
}
