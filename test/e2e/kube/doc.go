// Package kube is what end-to-end tests use of the local Kubernetes cluster (hack/kube): they run inside its network, call
// kubectl and helm, wait for things with a message of what was last seen, and break pods and nodes.
//
// A package of end-to-end tests has
//
//	func TestMain(m *testing.M) { kube.Main(m, kube.Options{Nodes: 3}) }
//
//	func TestSomething(t *testing.T) {
//		c := kube.Connect(t)              // skips the test when end-to-end tests were not asked for
//		ns := c.Namespace(t)              // a namespace for this test; goes with it
//		ctx := t.Context()
//		kube.Must(t, c.Apply(ctx, ns, manifest))
//		c.Await(t, time.Minute, "cluster ready", func(ctx context.Context) error {
//			return c.Condition(ctx, ns, "clusters.fairlead.io/x", "Ready", "True")
//		})
//	}
//
// `make e2e` runs them: it sets FAIRLEAD_E2E. Main then starts the cluster, or takes the running one, loads the image that
// `make image` has built, and runs the test program again in the cluster's network namespace: tests dial pods and Services
// by address and by name, as a pod does, and give those names to any client. There is one cluster, so packages run one after
// the other (go test -p 1), and a test that stops nodes runs alone (no t.Parallel).
//
// Methods that take a testing.TB end the test on failure, all others give errors. Nothing is retried but by Await: the API
// answers with what is there now.
//
// Node names are n1, n2, ...; node nX is in zone zX. Storage classes: `local`, the default, whose volumes can grow, and
// `local-fixed`. A node that ends is NotReady after 12 s, its pods are evicted 5 s later.
package kube
