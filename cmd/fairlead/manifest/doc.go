// Package manifest applies Topic manifests to a cluster without Kubernetes: the same files that `kubectl apply` takes, so that a topic is
// described once for the laptop and for the cluster.
//
//	Parse    bytes -> topics; everything that can be wrong in a file is told with file, document, line and field
//	Decide   topic wanted + topic found -> what to do, or why it cannot be done; pure
//	Apply    asks the brokers, and does it
//
// It knows the fields of fairlead.io/v1alpha1 by itself, since this program links nothing of Kubernetes; a test holds it to the CRD.
// What only an operator can do with a Topic is passed over: clusterRef, deletionPolicy and status say nothing here. Replicas are not moved.
package manifest
