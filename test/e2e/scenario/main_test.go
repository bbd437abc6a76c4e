package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/test/e2e/kube"
	"github.com/fairlead-io/fairlead/test/workload"
)

func TestMain(m *testing.M) { kube.Main(m, kube.Options{Nodes: 3}) }

const (
	system     = "fairlead-system" // namespace of the operator that looks after all namespaces
	partitions = 6
	// settle bounds a step after which everything is to be well again.
	settle = 4 * time.Minute
)

var installed sync.Once

// connect gives the cluster with the operator installed, once for all tests of the run.
func connect(t *testing.T) *kube.Cluster {
	t.Helper()
	c := kube.Connect(t)
	installed.Do(func() { install(t, c, system) })
	return c
}

// install makes or upgrades a release of the chart; the operator's pods are new ones even if the image has the same name as before.
func install(t *testing.T, c *kube.Cluster, namespace string, values ...string) {
	t.Helper()
	root, err := kube.Root()
	kube.Must(t, err)
	repository, tag, _ := strings.Cut(c.Image, ":")
	args := []string{"upgrade", "--install", "fairlead", filepath.Join(root, "charts", "fairlead"), "--create-namespace", "--wait", "--timeout", "3m",
		"--set", "image.repository=" + repository, "--set", "image.tag=" + tag, "--set", fmt.Sprintf("podAnnotations.run=r%d", os.Getpid())}
	for _, v := range values {
		args = append(args, "--set", v)
	}
	_, err = c.Helm(t.Context(), namespace, args...)
	kube.Must(t, err)
}

// operatorPod is the name of the one pod of the operator.
func operatorPod(t *testing.T, c *kube.Cluster, namespace string) string {
	t.Helper()
	var name string
	c.Await(t, time.Minute, "the operator's pod", func(ctx context.Context) error {
		pods, err := c.Pods(ctx, namespace, "app.kubernetes.io/component=operator")
		if err != nil {
			return err
		}
		pods = slices.DeleteFunc(pods, func(p kube.Pod) bool { return p.Ready() != nil })
		if len(pods) != 1 {
			return fmt.Errorf("%d pods are ready", len(pods))
		}
		name = pods[0].Name
		return nil
	})
	return name
}

// scaleOperator changes how many operators run, and waits until it is so.
func scaleOperator(t *testing.T, c *kube.Cluster, namespace string, n int) {
	t.Helper()
	_, err := c.Kubectl(t.Context(), namespace, "scale", "deployment/fairlead", fmt.Sprintf("--replicas=%d", n))
	kube.Must(t, err)
	c.Await(t, time.Minute, fmt.Sprintf("%d operators", n), func(ctx context.Context) error {
		pods, err := c.Pods(ctx, namespace, "app.kubernetes.io/component=operator")
		if err == nil && len(pods) != n {
			err = fmt.Errorf("%d pods", len(pods))
		}
		return err
	})
}

// clusterManifest is a Cluster "x" of a few brokers; more are lines of its spec.
func clusterManifest(replicas int, more ...string) string {
	return fmt.Sprintf(`
apiVersion: fairlead.io/v1alpha1
kind: Cluster
metadata: {name: x}
spec:
  replicas: %d
  storage: {size: 1Gi, deletionPolicy: Delete}
  podTemplate: {imagePullPolicy: IfNotPresent}
  %s
`, replicas, strings.Join(more, "\n  "))
}

func topicManifest(name string, more ...string) string {
	return fmt.Sprintf(`
apiVersion: fairlead.io/v1alpha1
kind: Topic
metadata: {name: %s}
spec:
  clusterRef: {name: x}
  %s
`, name, strings.Join(more, "\n  "))
}

func bootstrap(namespace string) []string { return []string{"x-bootstrap." + namespace + ".svc:9092"} }

// awaitReady waits until an object is Ready for its current generation.
func awaitReady(t *testing.T, c *kube.Cluster, namespace, object string) {
	t.Helper()
	c.Await(t, settle, object+" ready", func(ctx context.Context) error {
		return c.Condition(ctx, namespace, object, "Ready", "True")
	})
}

// newCluster makes a Cluster "x" in a namespace of its own, and waits until it is Ready.
func newCluster(t *testing.T, c *kube.Cluster, replicas int, more ...string) (namespace string) {
	t.Helper()
	namespace = c.Namespace(t)
	kube.Must(t, c.Apply(t.Context(), namespace, clusterManifest(replicas, more...)))
	awaitReady(t, c, namespace, "cluster/x")
	return namespace
}

func getCluster(t *testing.T, c *kube.Cluster, namespace string) v1alpha1.Cluster {
	t.Helper()
	var x v1alpha1.Cluster
	kube.Must(t, c.Get(t.Context(), namespace, "clusters.fairlead.io", "x", &x))
	return x
}

// patch is a JSON merge patch of an object's spec.
func patch(t *testing.T, c *kube.Cluster, namespace, object string, spec any) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"spec": spec})
	kube.Must(t, err)
	_, err = c.Kubectl(t.Context(), namespace, "patch", object, "--type=merge", "--patch="+string(text))
	kube.Must(t, err)
}

// brokerPods are the pods of the brokers by their name.
func brokerPods(ctx context.Context, c *kube.Cluster, namespace string) (map[string]kube.Pod, error) {
	pods, err := c.Pods(ctx, namespace, "app.kubernetes.io/component=broker")
	byName := map[string]kube.Pod{}
	for _, p := range pods {
		byName[p.Name] = p
	}
	return byName, err
}

func mustBrokerPods(t *testing.T, c *kube.Cluster, namespace string) map[string]kube.Pod {
	t.Helper()
	pods, err := brokerPods(t.Context(), c, namespace)
	kube.Must(t, err)
	return pods
}

// replaced counts the pods that are not those of before any more.
func replaced(before, now map[string]kube.Pod) (n int) {
	for name, p := range before {
		if q, ok := now[name]; ok && q.UID != p.UID {
			n++
		}
	}
	return n
}

// awaitRolled waits until every broker's pod is a new one, nothing is going on any more, and all is well.
func awaitRolled(t *testing.T, c *kube.Cluster, namespace string, before map[string]kube.Pod) {
	t.Helper()
	c.Await(t, 2*settle, "all brokers restarted", func(ctx context.Context) error {
		now, err := brokerPods(ctx, c, namespace)
		if err != nil {
			return err
		}
		if n := replaced(before, now); n != len(before) {
			return fmt.Errorf("%d of %d pods are new", n, len(before))
		}
		return nil
	})
	awaitCalm(t, c, namespace)
}

// awaitCalm waits until a Cluster is Ready and nothing is going on in it.
func awaitCalm(t *testing.T, c *kube.Cluster, namespace string) {
	t.Helper()
	c.Await(t, settle, "the cluster calm", func(ctx context.Context) error {
		if err := c.Condition(ctx, namespace, "cluster/x", "Ready", "True"); err != nil {
			return err
		}
		var x v1alpha1.Cluster
		if err := c.Get(ctx, namespace, "clusters.fairlead.io", "x", &x); err != nil {
			return err
		}
		if x.Status.Operation != nil {
			return fmt.Errorf("going on: %+v", *x.Status.Operation)
		}
		return nil
	})
}

func statefulSet(t *testing.T, c *kube.Cluster, namespace string) appsv1.StatefulSet {
	t.Helper()
	var s appsv1.StatefulSet
	kube.Must(t, c.Get(t.Context(), namespace, "statefulsets", "x", &s))
	return s
}

func admin(t *testing.T, namespace string) *kadm.Client {
	t.Helper()
	cl, err := kgo.NewClient(workload.ClientOptions(bootstrap(namespace))...)
	kube.Must(t, err)
	t.Cleanup(cl.Close)
	return kadm.NewClient(cl)
}
