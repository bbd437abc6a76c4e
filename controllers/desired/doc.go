// Package desired turns the spec of a Cluster into the Kubernetes objects that the operator keeps for it, one file a kind. It looks at
// nothing but its arguments, and gives equal objects for equal ones.
package desired
