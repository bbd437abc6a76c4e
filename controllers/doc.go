// Package controllers is the operator's shell: the manager with its caches, and one reconciler per kind.
//
// A pass is four calls in a row. It decides nothing, and what a later pass needs to be right is in the status of the object; in memory are
// only what the last plan failed of, which the next one reports, and what metrics tell.
//
//	observe      gather one snapshot: objects from the cache, answers of brokers                 (package observe)
//	plan         compute what to do, which status to report, when to look again                  (packages plan/...)
//	apply        carry the actions out in order; one that fails keeps no other from being done   (package apply)
//	report       patch the status once, only when it differs, and only if nobody changed it since it was read
//
// A disruptive action is recorded in the status by one pass and done by a later one. The Cluster is read at the API server, not in the
// cache, so a pass knows every record; and the lock on its version makes records binding: a pass that read an old status cannot record anything.
//
// # Goroutines
//
// The manager owns all: one queue and a bounded number of workers per kind, never two on one object. The caches hold only objects that carry
// the operator's label, without their managed fields, and no secrets.
package controllers
