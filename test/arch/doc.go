// Package arch keeps the shape of the broker and of the operator: which package may import which, and what a pure package may not touch.
// The rules are the tables in this file's neighbours; `go test ./test/arch` checks the tree, and shows for every
// rule a piece of source that breaks it.
package arch
