// Package controllers is the operator's shell: the manager with its caches, and one reconciler per kind.
//
// A reconciler is four calls in a row. It decides nothing and remembers nothing between two passes: all that must outlive a pass is
// in the status of its object.
//
//	observe      gather one snapshot: objects from the cache, answers of brokers                 (package observe)
//	plan         compute what to do, which status to report, when to look again                  (packages plan/...)
//	apply        carry the actions out in order, stop at the first that cannot be                (package apply)
//	report       patch the status once, only when it differs, and only if nobody changed it since it was read
//
// The status is patched before the actions when the plan says so: a disruptive action is recorded before it is done. The lock on the
// version of the object makes the record binding: a pass that read an old status cannot record anything, so it cannot begin anything.
//
// # Goroutines
//
// The manager owns all: one queue and few workers per kind, never two workers on one object. The caches hold only objects that carry
// the operator's label, without their managed fields, and no secrets.
package controllers
