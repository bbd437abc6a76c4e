// Package manifest tests config/ as kubectl renders it, and that an API server takes it. kubectl is one of the programs in
// KUBEBUILDER_ASSETS; without them the tests are skipped and say so.
package manifest
