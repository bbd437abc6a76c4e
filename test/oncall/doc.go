// Package oncall tests that kubectl get and kubectl describe alone tell a person on call what is wrong, and shows it: the examples in
// docs/operations/conditions.md are this test's.
//
//	situation_test.go  what goes wrong, one situation after the other
//	cluster_test.go    a cluster as the operator sees it, and what its plans do to it
//	topic_test.go      the same for a topic
//	kubectl_test.go    the objects in a real API server, and what kubectl prints of them
//	page_test.go       the page
//
// A situation is a snapshot with a fixed clock. The operator's own planning makes the status and the events from it, as often as it takes
// until it has nothing more to do. What is never the same twice, ages and identities that the API server gives, is replaced by fixed text.
//
// The messages of schedulers and kubelets are theirs, word for word. Without an API server the planning is tested, and the printing is
// skipped. To write the examples anew: KUBEBUILDER_ASSETS=... go test ./test/oncall -rewrite.
package oncall
