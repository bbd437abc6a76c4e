// Package conditions has the one table of the status conditions of Cluster and Topic: type, reason, what it means and what lifts it. Each
// reason of a type has one status. The page docs/operations/conditions.md is made from the table.
//
// Rules: the status of a condition changes its lastTransitionTime, nothing else does. Messages have no times, and no numbers that change by
// themselves: a message that differs is a write. [Ready] is the summary of the others: the worst of them, by the order of the table.
package conditions
