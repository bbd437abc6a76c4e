// Package v1alpha1 has the types of the API group fairlead.io: [Cluster] and [Topic].
//
// It holds fields, their rules and their documentation, no logic. Each field says its default, whether it may change, and what
// happens when it does. The definitions in config/crd are generated from here (`make generate`).
//
// +kubebuilder:object:generate=true
// +groupName=fairlead.io
package v1alpha1
