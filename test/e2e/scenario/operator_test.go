package scenario

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/e2e/kube"
)

// With nothing to do the operator writes nothing, whatever others put on its objects.
func TestC50AnIdleOperatorWritesNothing(t *testing.T) {
	c := connect(t)
	namespace := newCluster(t, c, 3)
	var topics strings.Builder
	for i := range 20 {
		topics.WriteString(topicManifest(fmt.Sprintf("t%02d", i), "partitions: 1") + "---")
	}
	kube.Must(t, c.Apply(t.Context(), namespace, topics.String()))
	for i := range 20 {
		awaitReady(t, c, namespace, fmt.Sprintf("topic/t%02d", i))
	}
	awaitCalm(t, c, namespace)
	before := mustBrokerPods(t, c, namespace)
	for _, object := range []string{"cluster/x", "statefulset/x", "service/x-bootstrap", "pod/x-0"} {
		_, err := c.Kubectl(t.Context(), namespace, "annotate", object, "somebody=else")
		kube.Must(t, err)
		_, err = c.Kubectl(t.Context(), namespace, "label", object, "somebody=else")
		kube.Must(t, err)
	}
	mark, err := c.Mark()
	kube.Must(t, err)
	c.Holds(t, 75*time.Second, "silence", func(context.Context) error {
		requests, err := c.Requests(mark)
		for _, r := range requests {
			if r.User == "system:serviceaccount:"+system+":fairlead" && r.Writes() && r.Resource != "leases" {
				return fmt.Errorf("%v", r)
			}
		}
		return err
	})
	if n := untouched(before, mustBrokerPods(t, c, namespace)); n != 3 {
		t.Errorf("%d of 3 brokers are untouched", n)
	}
}

// In one namespace the operator works with permissions in that namespace alone, and one that it lacks is told.
func TestC55PermissionsAreEnoughAndFew(t *testing.T) {
	c := connect(t)
	scaleOperator(t, c, system, 0)
	t.Cleanup(func() {
		// t's context has ended here.
		_, err := c.Kubectl(context.Background(), system, "scale", "deployment/fairlead", "--replicas=1")
		kube.Must(t, err)
	})
	namespace := c.Namespace(t)
	mark, err := c.Mark()
	kube.Must(t, err)
	install(t, c, namespace, "watchNamespace="+namespace, "crds.install=false", "readNodesAndStorage=false")
	kube.Must(t, c.Apply(t.Context(), namespace, clusterManifest(3)))
	awaitReady(t, c, namespace, "cluster/x")
	kube.Must(t, c.Apply(t.Context(), namespace, topicManifest("orders", "partitions: 3", "deletionPolicy: Delete")))
	awaitReady(t, c, namespace, "topic/orders")
	patch(t, c, namespace, "topic/orders", map[string]any{"partitions": 4})
	awaitReady(t, c, namespace, "topic/orders")
	patch(t, c, namespace, "cluster/x", map[string]any{"replicas": 4})
	awaitCalm(t, c, namespace)
	before := mustBrokerPods(t, c, namespace)
	patch(t, c, namespace, "cluster/x", map[string]any{"config": map[string]string{"replica.lag.time.max.ms": "20000"}})
	awaitRolled(t, c, namespace, before)
	_, err = c.Kubectl(t.Context(), namespace, "delete", "topic.fairlead.io/orders", "--wait=true", "--timeout=60s")
	kube.Must(t, err)
	noneForbidden(t, c, mark, namespace)

	t.Run("without the permission to delete pods", func(t *testing.T) {
		var role struct {
			Rules []struct {
				Resources, Verbs []string
			}
		}
		kube.Must(t, c.Get(t.Context(), namespace, "role", "fairlead", &role))
		at := -1
		for i, r := range role.Rules {
			if len(r.Resources) == 1 && r.Resources[0] == "pods" {
				at = i
			}
		}
		if at < 0 {
			t.Fatalf("no rule is about pods alone: %+v", role.Rules)
		}
		_, err := c.Kubectl(t.Context(), namespace, "patch", "role/fairlead", "--type=json", fmt.Sprintf(`--patch=[{"op":"replace","path":"/rules/%d/verbs","value":["get","list","watch","patch"]}]`, at))
		kube.Must(t, err)
		patch(t, c, namespace, "cluster/x", map[string]any{"config": map[string]string{"replica.lag.time.max.ms": "21000"}})
		c.Await(t, time.Minute, "the missing permission told", func(ctx context.Context) error {
			return tells(ctx, c, namespace, "forbidden", "pods")
		})
	})
}

// 500 topics in one apply.
func TestFiveHundredTopics(t *testing.T) {
	const (
		n     = 500
		limit = 2 * time.Minute
	)
	c := connect(t)
	namespace := newCluster(t, c, 3)
	var all strings.Builder
	for i := range n {
		all.WriteString(topicManifest(fmt.Sprintf("t%03d", i), "partitions: 1") + "---")
	}
	all.WriteString(topicManifest("impossible", "replicationFactor: 9"))
	begin := time.Now()
	kube.Must(t, c.Apply(t.Context(), namespace, all.String()))
	applied := time.Since(begin)
	c.Await(t, limit, "all topics ready", func(ctx context.Context) error {
		out, err := c.Kubectl(ctx, namespace, "get", "topics.fairlead.io", `--output=jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
		if ready := strings.Count(out, "True"); err == nil && ready != n {
			err = fmt.Errorf("%d of %d are ready", ready, n)
		}
		return err
	})
	t.Logf("%d topics: applied in %.0f s, ready after %.0f s", n, applied.Seconds(), time.Since(begin).Seconds())
	kube.Must(t, c.Condition(t.Context(), namespace, "topic/impossible", "Ready", "False"))
	topics, err := admin(t, namespace).ListTopics(t.Context())
	kube.Must(t, err)
	if len(topics) != n {
		t.Errorf("the brokers have %d topics", len(topics))
	}
}
