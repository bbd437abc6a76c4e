package scenario

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/test/e2e/kube"
)

// namespaceLimit bounds the deletion of a namespace with a Cluster and Topics in it.
const namespaceLimit = time.Minute

// A cluster's life, with a producer (acks=all, idempotent), a reader and a consumer group at work all the time: no record is lost, doubled or out
// of order, and no produce fails.
func TestLifecycle(t *testing.T) {
	c := connect(t)
	mark, err := c.Mark()
	kube.Must(t, err)
	namespace := newCluster(t, c, 3)
	tr := startTraffic(t, c, namespace)

	tr.during(t, c, "a setting that brokers take live", func(t *testing.T) {
		before := mustBrokerPods(t, c, namespace)
		patch(t, c, namespace, "cluster/x", map[string]any{"config": map[string]string{"log.retention.ms": "7200000"}})
		awaitCalm(t, c, namespace)
		awaitSetting(t, c, namespace, "log.retention.ms", "7200000")
		if n := replaced(before, mustBrokerPods(t, c, namespace)); n != 0 {
			t.Errorf("%d brokers were restarted", n)
		}
	})
	tr.during(t, c, "a roll by a setting, in whose middle the operator is killed", func(t *testing.T) {
		before := mustBrokerPods(t, c, namespace)
		patch(t, c, namespace, "cluster/x", map[string]any{"config": map[string]string{"replica.lag.time.max.ms": "20000"}})
		c.Await(t, settle, "the first broker restarted", func(ctx context.Context) error {
			now, err := brokerPods(ctx, c, namespace)
			if err == nil && replaced(before, now) == 0 {
				err = fmt.Errorf("no pod is new")
			}
			return err
		})
		kube.Must(t, c.Kill(t.Context(), system, operatorPod(t, c, system)))
		awaitRolled(t, c, namespace, before)
		awaitSetting(t, c, namespace, "replica.lag.time.max.ms", "20000")
	})
	tr.during(t, c, "a roll by an image", func(t *testing.T) {
		next := strings.Split(c.Image, ":")[0] + ":next"
		kube.Must(t, c.TagImage(t.Context(), c.Image, next))
		before := mustBrokerPods(t, c, namespace)
		patch(t, c, namespace, "cluster/x", map[string]any{"image": next})
		awaitRolled(t, c, namespace, before)
		for name, p := range mustBrokerPods(t, c, namespace) {
			if got := p.Spec.Containers[0].Image; got != next {
				t.Errorf("%s has the image %s, want %s", name, got, next)
			}
		}
	})
	tr.during(t, c, "a broker killed with -9", func(t *testing.T) {
		before := mustBrokerPods(t, c, namespace)["x-1"]
		kube.Must(t, c.Kill(t.Context(), namespace, "x-1"))
		c.Await(t, settle, "x-1 restarted once", func(ctx context.Context) error {
			p, err := c.Pod(ctx, namespace, "x-1")
			if err == nil && p.Restarts() != before.Restarts()+1 {
				err = fmt.Errorf("%d restarts", p.Restarts())
			}
			if err == nil {
				err = p.Ready()
			}
			return err
		})
		awaitCalm(t, c, namespace)
	})
	tr.during(t, c, "a pod deleted together with its volume", func(t *testing.T) {
		was := directoryOf(t, c, namespace, 2)
		kube.Must(t, c.ReplaceDisk(t.Context(), namespace, "x-2"))
		awaitCalm(t, c, namespace)
		awaitInSync(t, c, namespace, 3)
		if is := directoryOf(t, c, namespace, 2); is == was || is == "" {
			t.Errorf("broker 2 has the directory %q, before %q", is, was)
		}
	})
	tr.during(t, c, "a node stopped and brought back", func(t *testing.T) {
		node := nodeToStop(t, c, namespace)
		kube.Must(t, c.StopNode(t.Context(), node))
		c.Await(t, settle, "the lost node told", func(ctx context.Context) error {
			return c.Condition(ctx, namespace, "cluster/x", "BrokersReady", "False")
		})
		tr.awaitAcks(t, c, "acknowledgements without the node")
		kube.Must(t, c.StartNode(t.Context(), node))
		awaitCalm(t, c, namespace)
		awaitInSync(t, c, namespace, 3)
	})
	tr.during(t, c, "volumes grow", func(t *testing.T) {
		before := mustBrokerPods(t, c, namespace)
		patch(t, c, namespace, "cluster/x", map[string]any{"storage": map[string]any{"size": "2Gi"}})
		awaitCalm(t, c, namespace)
		awaitVolumes(t, c, namespace, 3, "2Gi")
		for name, p := range mustBrokerPods(t, c, namespace) {
			if p.UID != before[name].UID || p.Restarts() > before[name].Restarts() {
				t.Errorf("%s was restarted for it", name)
			}
		}
		template := statefulSet(t, c, namespace).Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String()
		if template != "2Gi" {
			t.Errorf("new brokers would get %s", template)
		}
	})
	tr.during(t, c, "from three brokers to four", func(t *testing.T) {
		patch(t, c, namespace, "cluster/x", map[string]any{"replicas": 4})
		awaitCalm(t, c, namespace)
		awaitVolumes(t, c, namespace, 4, "2Gi")
		kube.Must(t, c.Apply(t.Context(), namespace, topicManifest("wide", "partitions: 8", "replicationFactor: 3")))
		awaitReady(t, c, namespace, "topic/wide")
		if !holds(t, namespace, "wide", 3) {
			t.Error("the new broker got no replica of a new topic")
		}
	})
	tr.finish(t)
	noneForbidden(t, c, mark, system)

	t.Run("the namespace goes", func(t *testing.T) {
		begin := time.Now()
		_, err := c.Kubectl(t.Context(), "", "delete", "namespace", namespace, "--wait=true", "--timeout="+namespaceLimit.String())
		kube.Must(t, err)
		t.Logf("gone after %.0f s", time.Since(begin).Seconds())
	})
}

// awaitSetting waits until every broker has a setting.
func awaitSetting(t *testing.T, c *kube.Cluster, namespace, key, want string) {
	t.Helper()
	adm := admin(t, namespace)
	c.Await(t, time.Minute, key+"="+want, func(ctx context.Context) error {
		all, err := adm.DescribeBrokerConfigs(ctx, 0, 1, 2)
		if err != nil {
			return err
		}
		for _, b := range all {
			if b.Err != nil {
				return b.Err
			}
			for _, s := range b.Configs {
				if s.Key == key && s.MaybeValue() != want {
					return fmt.Errorf("broker %s has %s", b.Name, s.MaybeValue())
				}
			}
		}
		if len(all) != 3 {
			return fmt.Errorf("%d brokers answered", len(all))
		}
		return nil
	})
}

// awaitInSync waits until every partition of the traffic's topic has all replicas in sync.
func awaitInSync(t *testing.T, c *kube.Cluster, namespace string, replicas int) {
	t.Helper()
	adm := admin(t, namespace)
	c.Await(t, settle, "all replicas in sync", func(ctx context.Context) error {
		all, err := adm.ListTopics(ctx, topic)
		if err != nil {
			return err
		}
		for _, p := range all[topic].Partitions.Sorted() {
			if len(p.ISR) != replicas || p.Leader < 0 {
				return fmt.Errorf("partition %d: leader %d, in-sync set %v", p.Partition, p.Leader, p.ISR)
			}
		}
		if n := len(all[topic].Partitions); n != partitions {
			return fmt.Errorf("%d partitions are told", n)
		}
		return nil
	})
}

// holds tells whether a broker has a replica of a topic.
func holds(t *testing.T, namespace, topic string, broker int32) bool {
	t.Helper()
	all, err := admin(t, namespace).ListTopics(t.Context(), topic)
	kube.Must(t, err)
	for _, p := range all[topic].Partitions {
		for _, r := range p.Replicas {
			if r == broker {
				return true
			}
		}
	}
	return false
}

func directoryOf(t *testing.T, c *kube.Cluster, namespace string, broker int32) string {
	t.Helper()
	for _, b := range getCluster(t, c, namespace).Status.Brokers {
		if b.ID == broker {
			return b.DirectoryID
		}
	}
	t.Fatalf("status has no broker %d", broker)
	return ""
}

// nodeToStop is a node with one broker on it and without the operator.
func nodeToStop(t *testing.T, c *kube.Cluster, namespace string) string {
	t.Helper()
	brokers := map[string]int{}
	for _, p := range mustBrokerPods(t, c, namespace) {
		brokers[p.Spec.NodeName]++
	}
	operator, err := c.Pod(t.Context(), system, operatorPod(t, c, system))
	kube.Must(t, err)
	for node, n := range brokers {
		if n == 1 && node != operator.Spec.NodeName {
			return node
		}
	}
	t.Fatalf("no node has one broker and no operator: %v", brokers)
	return ""
}

// awaitVolumes waits until there are n claims of brokers, each with a size that is there and not only asked for.
func awaitVolumes(t *testing.T, c *kube.Cluster, namespace string, n int, size string) {
	t.Helper()
	c.Await(t, settle, fmt.Sprintf("%d volumes of %s", n, size), func(ctx context.Context) error {
		var claims corev1.PersistentVolumeClaimList
		if err := c.Get(ctx, namespace, "persistentvolumeclaims", "", &claims); err != nil {
			return err
		}
		for _, v := range claims.Items {
			if got := v.Status.Capacity.Storage().String(); got != size {
				return fmt.Errorf("%s has %s", v.Name, got)
			}
		}
		if len(claims.Items) != n {
			return fmt.Errorf("%d claims", len(claims.Items))
		}
		return nil
	})
}

// noneForbidden fails for each request of an operator that was refused for want of a permission (C55).
func noneForbidden(t *testing.T, c *kube.Cluster, from kube.Mark, namespace string) {
	t.Helper()
	requests, err := c.Requests(from)
	kube.Must(t, err)
	seen := 0
	for _, r := range requests {
		if r.User != "system:serviceaccount:"+namespace+":fairlead" {
			continue
		}
		seen++
		if r.Code == 403 {
			t.Errorf("forbidden: %v", r)
		}
	}
	if seen == 0 {
		t.Errorf("no request of the operator is in the audit log")
	}
}
