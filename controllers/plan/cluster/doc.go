// Package cluster plans what the operator does for one Cluster: [Compute] is given everything that was seen, in a [Snapshot], and gives
// the actions to take now, the status to report, and when to look again. It asks nobody, waits for nothing and remembers nothing: what
// must be remembered is in the status that it is given back with the next snapshot.
//
// Goals, in this order:
//
//  1. No acknowledged record is lost, and no partition becomes unavailable, by what the operator does.
//  2. What the user wants is carried out, and a wrong wish can be corrected by another one, whatever state the cluster is in.
//  3. Whoever reads the status knows what is wrong, and what would lift it.
//  4. Nothing is written when there is nothing to do.
//
// Rules that hold for every plan:
//
//   - A fact that is not known allows waiting and looking again, nothing else. Not known is never taken as absent.
//   - At most one disruptive action: one that stops a broker, or takes one away. It is recorded in status.operation by one plan, which
//     asks for the next look at once, and done by a later plan that finds the record and finds that the reasons still hold. A record may
//     thus be read by another operator than the one that wrote it.
//   - Pods are deleted by name and UID, so that a plan made from an old view deletes nothing new.
//   - What is not disruptive waits for nothing disruptive: a pod that cannot start never stands in the way of the change that repairs it.
//   - A rule that cannot go on says so in a condition and leaves the others to go on.
//   - Two plans of one snapshot are equal, and what a converged cluster gives is no action and the status that it has.
//
// The caller carries out all actions in their order, also after one that fails, and then writes the status, once, if it differs. What
// failed it gives to the next plan, which reports it. The write carries the resource version of the Cluster of the snapshot, so that a plan that was made from an old view is refused:
// the identities of the metadata quorum, above all, are written once and kept.
package cluster
