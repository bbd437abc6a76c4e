// Package kubetest is what tests of controllers need of Kubernetes, without nodes and containers:
//
//	server.go     a real API server and etcd with our definitions, one for all tests of a package
//	calls.go      what a client asked of the API server: how a test proves that an operator is quiet, and that its permissions are enough
//	workloads.go  a stand-in for the controllers and kubelets that make pods of a StatefulSet, as far as an operator can tell
//
// The programs are looked for in the directory KUBEBUILDER_ASSETS; without it tests that need them are skipped and say so.
package kubetest
