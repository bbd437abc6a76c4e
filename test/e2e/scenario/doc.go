// Package scenario has what an operator lives through, played on a real Kubernetes: install, roll, break, scale, grow, delete, with producers
// and consumers at work and a checker that knows what they were promised (package workload).
//
// The tests run one after the other, since they share the cluster and break its nodes. `make e2e` runs them.
package scenario
