package kube

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Signal sends a signal, by name, to the first process of a pod's container; of the first container for the name "". It
// does not matter what the process may do about it: SIGKILL is kill -9 of a broker (the kubelet starts it again in the same
// pod), SIGSTOP freezes it, SIGCONT lets it go on.
func (c *Cluster) Signal(ctx context.Context, namespace, pod, container, signal string) error {
	p, err := c.Pod(ctx, namespace, pod)
	if err != nil {
		return err
	}
	id, err := p.container(container)
	if err != nil {
		return fmt.Errorf("send %s: %w", signal, err)
	}
	_, err = c.Tool(ctx, "node", p.Spec.NodeName, "ctr", "--namespace", "k8s.io", "tasks", "kill", "--signal", signal, id)
	return err
}

// Kill is kill -9 of the first process of a pod's first container.
func (c *Cluster) Kill(ctx context.Context, namespace, pod string) error {
	return c.Signal(ctx, namespace, pod, "", "SIGKILL")
}

// Freeze stops it without ending it: to everybody else it falls silent. Thaw lets it go on.
func (c *Cluster) Freeze(ctx context.Context, namespace, pod string) error {
	return c.Signal(ctx, namespace, pod, "", "SIGSTOP")
}

// Thaw ends a Freeze.
func (c *Cluster) Thaw(ctx context.Context, namespace, pod string) error {
	return c.Signal(ctx, namespace, pod, "", "SIGCONT")
}

// DeletePod asks for a pod's deletion, with its own grace period, and does not wait.
func (c *Cluster) DeletePod(ctx context.Context, namespace, pod string) error {
	_, err := c.Kubectl(ctx, namespace, "delete", "pod", pod, "--wait=false")
	return err
}

// DeletePodNow removes a pod from the API at once: what an administrator does with the pods of a node that is gone.
func (c *Cluster) DeletePodNow(ctx context.Context, namespace, pod string) error {
	_, err := c.Kubectl(ctx, namespace, "delete", "pod", pod, "--wait=false", "--force", "--grace-period=0")
	return err
}

// Evict asks for a pod's eviction, as a drain does: a PodDisruptionBudget may refuse.
func (c *Cluster) Evict(ctx context.Context, namespace, pod string) error {
	body := fmt.Sprintf(`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q,"namespace":%q}}`, pod, namespace)
	_, err := command(ctx, []byte(body), "kubectl", "create", "--raw", fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/eviction", namespace, pod), "-f", "-")
	return err
}

// replaceLimit bounds ReplaceDisk: the pod's grace period, and what the cluster does about it.
const replaceLimit = 3 * time.Minute

// ReplaceDisk deletes a pod of a StatefulSet together with its volume claims, and waits until the claims are new ones: a
// disk that broke and was replaced by an empty one. The new pod may be anywhere.
func (c *Cluster) ReplaceDisk(ctx context.Context, namespace, pod string) error {
	ctx, cancel := context.WithTimeout(ctx, replaceLimit)
	defer cancel()
	old, err := c.Pod(ctx, namespace, pod)
	if err != nil {
		return err
	}
	before := map[string]string{} // claim -> UID
	for _, v := range old.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim := v.PersistentVolumeClaim.ClaimName
		if before[claim], err = c.uid(ctx, namespace, "persistentvolumeclaim", claim); err != nil {
			return err
		}
		if _, err := c.Kubectl(ctx, namespace, "delete", "persistentvolumeclaim", claim, "--wait=false"); err != nil {
			return err
		}
	}
	if len(before) == 0 {
		return fmt.Errorf("replace the disk of pod %s: it has no volume claim", pod)
	}
	if err := c.DeletePod(ctx, namespace, pod); err != nil {
		return err
	}
	return poll(ctx, askEvery, func(ctx context.Context) error { return c.replaced(ctx, namespace, pod, string(old.UID), before) })
}

// replaced is nil once all claims are new. The StatefulSet may have made its new pod while the old claim was not gone yet:
// that pod waits for the claim that it saw going, and is deleted once more.
func (c *Cluster) replaced(ctx context.Context, namespace, pod, oldPod string, before map[string]string) error {
	for claim, uid := range before {
		now, err := c.uid(ctx, namespace, "persistentvolumeclaim", claim)
		switch {
		case err == nil && now == uid:
			return fmt.Errorf("the old claim %s is still there", claim)
		case err == nil:
		case !errors.Is(err, ErrNotFound):
			return err
		default:
			if p, err := c.Pod(ctx, namespace, pod); err == nil && string(p.UID) != oldPod && p.DeletionTimestamp == nil && time.Since(p.CreationTimestamp.Time) > 2*time.Second {
				return errors.Join(fmt.Errorf("pod %s was made before the claim %s was gone", pod, claim), c.DeletePod(ctx, namespace, pod))
			}
			return fmt.Errorf("there is no new claim %s yet", claim)
		}
	}
	return nil
}

func (c *Cluster) uid(ctx context.Context, namespace, kind, name string) (string, error) {
	var o struct{ Metadata struct{ UID string } }
	err := c.Get(ctx, namespace, kind, name, &o)
	return o.Metadata.UID, err
}
