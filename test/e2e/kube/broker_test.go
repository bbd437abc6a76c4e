package kube

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/fairlead-io/fairlead/test/control"
	"github.com/fairlead-io/fairlead/test/workload"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const step = 2 * time.Minute // limit of each step; seconds are usual

// One broker of our image, without the operator: what this package offers is there and does what it says.
func TestOneBroker(t *testing.T) {
	c := Connect(t)
	ns := c.Namespace(t)
	ctx := t.Context()
	manifest, err := os.ReadFile("testdata/broker.yaml")
	Must(t, err)
	const next = "fairlead:e2e-next"
	Must(t, c.TagImage(ctx, c.Image, next))
	Must(t, c.Apply(ctx, ns, strings.NewReplacer("%NAMESPACE%", ns, "%IMAGE%", next).Replace(string(manifest))))
	ready := func(ctx context.Context) error { return c.AllReady(ctx, ns, "app=single", 1) }
	c.Await(t, step, "broker ready", ready)
	load, group := startWorkload(t, "single-0.single."+ns+".svc:9092")
	defer group.Close()

	restarted := func(n int) func(context.Context) error {
		return func(ctx context.Context) error {
			p, err := c.Pod(ctx, ns, "single-0")
			if err == nil && p.Restarts() < n {
				err = fmt.Errorf("the pod restarted %d times, want %d", p.Restarts(), n)
			}
			if err == nil {
				err = p.Ready()
			}
			return err
		}
	}
	Must(t, c.Kill(ctx, ns, "single-0"))
	c.Await(t, step, "killed broker ready again", restarted(1))
	awaitAcks(t, c, load)

	Must(t, c.Freeze(ctx, ns, "single-0"))
	acked := -1
	c.Await(t, step, "frozen broker silent between two looks", func(ctx context.Context) error {
		if before := acked; load.Ledger.Acked(0) != before {
			acked = load.Ledger.Acked(0)
			return fmt.Errorf("it acknowledged %d records since", acked-before)
		}
		return nil
	})
	Must(t, c.Thaw(ctx, ns, "single-0"))
	awaitAcks(t, c, load)

	Must(t, c.DeletePod(ctx, ns, "single-0"))
	c.Await(t, step, "new pod ready", func(ctx context.Context) error {
		p, err := c.Pod(ctx, ns, "single-0")
		if err == nil && p.Restarts() > 0 {
			err = fmt.Errorf("the old pod is still there")
		}
		if err == nil {
			err = p.Ready()
		}
		return err
	})
	awaitAcks(t, c, load)
	finish(t, load, group)
	growVolume(t, c, ns)

	first, err := c.uid(ctx, ns, "persistentvolumeclaim", "data-single-0")
	Must(t, err)
	Must(t, c.ReplaceDisk(ctx, ns, "single-0"))
	c.Await(t, step, "broker ready on an empty disk", ready)
	if second, err := c.uid(ctx, ns, "persistentvolumeclaim", "data-single-0"); err != nil || second == first {
		t.Errorf("the claim is still %s (%v)", second, err)
	}
}

func startWorkload(t *testing.T, broker string) (*workload.Load, *workload.Group) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), step)
	defer cancel()
	bootstrap := []string{broker}
	cl, err := kgo.NewClient(workload.ClientOptions(bootstrap)...)
	Must(t, err)
	defer cl.Close()
	Must(t, control.CreateTopic(ctx, kadm.NewClient(cl), "e2e", 2, 1, nil))
	load, err := workload.StartLoad(workload.LoadOptions{Bootstrap: bootstrap, Topic: "e2e", Partitions: 2})
	Must(t, err)
	group, err := workload.StartGroup(workload.GroupOptions{Bootstrap: bootstrap, Topic: "e2e", Group: "e2e", Members: 2})
	Must(t, err)
	return load, group
}

func awaitAcks(t *testing.T, c *Cluster, load *workload.Load) {
	t.Helper()
	want := load.Ledger.Acked(0) + 50
	c.Await(t, step, "50 more acknowledgements", func(context.Context) error {
		if got := load.Ledger.Acked(0); got < want {
			return fmt.Errorf("%d of %d acknowledgements", got, want)
		}
		return nil
	})
}

func finish(t *testing.T, load *workload.Load, group *workload.Group) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), step)
	defer cancel()
	final, err := load.Finish(ctx)
	Must(t, err)
	Must(t, group.Finish(ctx))
	for _, b := range append(load.Ledger.Check(final), group.Ledger.Broken()...) {
		t.Error(b)
	}
	t.Logf("%+v; shown to the group again: %d", load.Ledger.Counts(), group.Ledger.Repeated())
}

// growVolume asks for more space twice: of the class whose volumes grow, and of the one whose volumes do not.
func growVolume(t *testing.T, c *Cluster, ns string) {
	t.Helper()
	const wish = `{"spec":{"resources":{"requests":{"storage":"128Mi"}}}}`
	_, err := c.Kubectl(t.Context(), ns, "patch", "persistentvolumeclaim", "data-single-0", "--patch", wish)
	Must(t, err)
	c.Await(t, step, "volume grown", func(ctx context.Context) error {
		var claim corev1.PersistentVolumeClaim
		if err := c.Get(ctx, ns, "persistentvolumeclaim", "data-single-0", &claim); err != nil {
			return err
		}
		if has := claim.Status.Capacity[corev1.ResourceStorage]; has.Cmp(resource.MustParse("128Mi")) != 0 {
			return fmt.Errorf("the claim's capacity is %s", has.String())
		}
		return nil
	})
	Must(t, c.Apply(t.Context(), ns, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: fixed}
spec: {accessModes: [ReadWriteOnce], storageClassName: local-fixed, resources: {requests: {storage: 64Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: user, image: "kube.fairlead.io/pause:1", volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: fixed}}]
`))
	c.Await(t, step, "pod on a fixed volume ready", func(ctx context.Context) error {
		p, err := c.Pod(ctx, ns, "user")
		if err == nil {
			err = p.Ready()
		}
		return err
	})
	if _, err := c.Kubectl(t.Context(), ns, "patch", "persistentvolumeclaim", "fixed", "--patch", wish); err == nil || !strings.Contains(err.Error(), "orbidden") {
		t.Errorf("the class local-fixed does not refuse to grow: %v", err)
	}
}
