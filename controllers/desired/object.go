package desired

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is a Kubernetes object of any kind; those of this package have their kind and API version set.
type Object interface {
	metav1.Object
	runtime.Object
}
