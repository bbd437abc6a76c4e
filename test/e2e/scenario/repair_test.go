package scenario

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/e2e/kube"
)

// A change that breaks a broker stops at the first, costs no produce, is told with the pod and the cause, and is repaired by an edit alone.
func TestC51ABadChangeIsRepairedByAnEdit(t *testing.T) {
	c := connect(t)
	namespace := newCluster(t, c, 3)
	tr := startTraffic(t, c, namespace)
	for _, r := range []struct {
		what       string
		bad, good  map[string]any
		pod, cause string // in the message
		restarts   bool
	}{
		{"an image that does not exist", map[string]any{"image": "fairlead:none"}, map[string]any{"image": c.Image}, "x-", "fairlead:none", true},
		{"more memory than any node has", map[string]any{"resources": map[string]any{"requests": map[string]string{"memory": "10Ti"}}},
			map[string]any{"resources": map[string]any{"requests": map[string]any{"memory": nil}}}, "x-", "nsufficient memory", true},
		{"a setting with an invalid value", map[string]any{"config": map[string]string{"num.partitions": "many"}}, map[string]any{"config": map[string]any{"num.partitions": nil}}, "", "num.partitions", false},
	} {
		tr.during(t, c, r.what, func(t *testing.T) {
			before := mustBrokerPods(t, c, namespace)
			patch(t, c, namespace, "cluster/x", r.bad)
			c.Await(t, 2*time.Minute, "the cause told", func(ctx context.Context) error {
				return tells(ctx, c, namespace, r.pod, r.cause)
			})
			// Whatever the operator does next must be the right thing: nothing.
			c.Holds(t, 20*time.Second, "at most one broker touched", func(ctx context.Context) error {
				now, err := brokerPods(ctx, c, namespace)
				if err != nil {
					return err
				}
				if n := len(before) - untouched(before, now); n > 1 || n > 0 && !r.restarts {
					return fmt.Errorf("%d brokers are touched", n)
				}
				return nil
			})
			patch(t, c, namespace, "cluster/x", r.good)
			awaitCalm(t, c, namespace)
			if n := len(before) - untouched(before, mustBrokerPods(t, c, namespace)); n > 1 || n > 0 && !r.restarts {
				t.Errorf("%d brokers were restarted, needlessly", n)
			}
		})
	}
	tr.finish(t)
}

// untouched counts the pods that are still those of before.
func untouched(before, now map[string]kube.Pod) (n int) {
	for name, p := range before {
		if q, ok := now[name]; ok && q.UID == p.UID {
			n++
		}
	}
	return n
}

// tells is nil when Ready is False and its message has the words.
func tells(ctx context.Context, c *kube.Cluster, namespace string, words ...string) error {
	message, err := c.Kubectl(ctx, namespace, "get", "cluster/x", `--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}: {.status.conditions[?(@.type=="Ready")].message}`)
	if err != nil {
		return err
	}
	for _, w := range append(words, "False: ") {
		if !strings.Contains(message, w) {
			return fmt.Errorf("Ready is %q, want %q in it", message, w)
		}
	}
	return nil
}

// A broker that holds replicas, or a vote, is not taken away; everything else of the spec is done; raising the number again clears it.
func TestC46AScaleInIsRefusedWhileBrokersHoldReplicas(t *testing.T) {
	c := connect(t)
	namespace := newCluster(t, c, 4)
	kube.Must(t, c.Apply(t.Context(), namespace, topicManifest("wide", "partitions: 8", "replicationFactor: 3")))
	awaitReady(t, c, namespace, "topic/wide")
	patch(t, c, namespace, "cluster/x", map[string]any{"replicas": 2, "config": map[string]string{"log.retention.ms": "7200000"}})
	c.Await(t, settle, "the refusal told", func(ctx context.Context) error { return tells(ctx, c, namespace, "3") })
	adm := admin(t, namespace)
	c.Await(t, time.Minute, "the setting of the same edit applied", func(ctx context.Context) error {
		all, err := adm.DescribeBrokerConfigs(ctx, 3)
		if err != nil {
			return err
		}
		for _, s := range all[0].Configs {
			if s.Key == "log.retention.ms" && s.MaybeValue() == "7200000" {
				return nil
			}
		}
		return fmt.Errorf("broker 3 does not have it")
	})
	allFour := func(ctx context.Context) error {
		return c.AllReady(ctx, namespace, "app.kubernetes.io/component=broker", 4)
	}
	c.Await(t, time.Minute, "kubelets have noticed all four", allFour) // the operator asks the brokers, and knows earlier
	c.Holds(t, 20*time.Second, "all four brokers stay", allFour)
	patch(t, c, namespace, "cluster/x", map[string]any{"replicas": 4})
	awaitCalm(t, c, namespace)
}

// A class whose volumes cannot grow: told, and nothing else is held up.
func TestC49VolumesThatCannotGrow(t *testing.T) {
	c := connect(t)
	namespace := c.Namespace(t)
	kube.Must(t, c.Apply(t.Context(), namespace, strings.Replace(clusterManifest(1), "size: 1Gi", "size: 1Gi, storageClassName: local-fixed", 1)))
	awaitReady(t, c, namespace, "cluster/x")
	before := mustBrokerPods(t, c, namespace)
	patch(t, c, namespace, "cluster/x", map[string]any{"storage": map[string]any{"size": "2Gi"}})
	c.Await(t, settle, "the reason told", func(ctx context.Context) error { return tells(ctx, c, namespace, "local-fixed") })
	if n := untouched(before, mustBrokerPods(t, c, namespace)); n != 1 {
		t.Error("the broker was restarted")
	}
	_, err := c.Kubectl(t.Context(), namespace, "patch", "cluster/x", "--type=merge", `--patch={"spec":{"storage":{"size":"512Mi"}}}`)
	if err == nil || !strings.Contains(err.Error(), "size cannot shrink") {
		t.Errorf("a smaller size is answered by %v", err)
	}
}

// Racks come from the zones of the nodes, and replicas of a partition go to different ones.
func TestRacks(t *testing.T) {
	c := connect(t)
	namespace := newCluster(t, c, 3, "rack: {}")
	racks := map[string]bool{}
	for _, b := range getCluster(t, c, namespace).Status.Brokers {
		racks[b.Rack] = true
		if want := "z" + strings.TrimPrefix(b.Node, "n"); b.Rack != want {
			t.Errorf("broker %d on node %s is in rack %q, want %q", b.ID, b.Node, b.Rack, want)
		}
	}
	all, err := admin(t, namespace).ListBrokers(t.Context())
	kube.Must(t, err)
	for _, b := range all {
		if b.Rack == nil || !racks[*b.Rack] {
			t.Errorf("clients are told rack %v of broker %d", b.Rack, b.NodeID)
		}
	}
}
