package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Pod is a pod with the questions that tests ask.
type Pod struct{ corev1.Pod }

// Pods lists pods; selector is a label selector, or empty for all.
func (c *Cluster) Pods(ctx context.Context, namespace, selector string) ([]Pod, error) {
	wanted, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("selector of pods: %w", err)
	}
	var list struct{ Items []Pod }
	err = c.Get(ctx, namespace, "pods", "", &list)
	return slices.DeleteFunc(list.Items, func(p Pod) bool { return !wanted.Matches(labels.Set(p.Labels)) }), err
}

// Pod reads one pod.
func (c *Cluster) Pod(ctx context.Context, namespace, name string) (Pod, error) {
	var p Pod
	err := c.Get(ctx, namespace, "pod", name, &p)
	return p, err
}

// Ready is nil for a pod that is ready and not being deleted; otherwise the error says what it is instead.
func (p Pod) Ready() error {
	if p.DeletionTimestamp != nil {
		return fmt.Errorf("pod %s is being deleted", p.Name)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return nil
		}
	}
	var states []string
	for _, s := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		switch {
		case s.State.Waiting != nil:
			states = append(states, fmt.Sprintf("%s waits: %s %s", s.Name, s.State.Waiting.Reason, s.State.Waiting.Message))
		case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
			states = append(states, fmt.Sprintf("%s ended with %d", s.Name, s.State.Terminated.ExitCode))
		case !s.Ready:
			states = append(states, s.Name+" is not ready")
		}
	}
	return fmt.Errorf("pod %s is %s: %s", p.Name, p.Status.Phase, strings.Join(states, ", "))
}

// Restarts counts those of all containers.
func (p Pod) Restarts() int {
	n := 0
	for _, s := range p.Status.ContainerStatuses {
		n += int(s.RestartCount)
	}
	return n
}

// container gives the node's id of a running container; the first one's for the name "".
func (p Pod) container(name string) (string, error) {
	for _, s := range p.Status.ContainerStatuses {
		if name != "" && s.Name != name {
			continue
		}
		if id, ok := strings.CutPrefix(s.ContainerID, "containerd://"); ok && s.State.Running != nil {
			return id, nil
		}
		return "", fmt.Errorf("container %s of pod %s does not run", s.Name, p.Name)
	}
	return "", fmt.Errorf("pod %s has no container %s", p.Name, name)
}

// AllReady is nil when there are exactly n pods and all are ready.
func (c *Cluster) AllReady(ctx context.Context, namespace, selector string, n int) error {
	pods, err := c.Pods(ctx, namespace, selector)
	if err != nil {
		return err
	}
	for _, p := range pods {
		if err := p.Ready(); err != nil {
			return err
		}
	}
	if len(pods) != n {
		return fmt.Errorf("there are %d pods with %s, want %d", len(pods), selector, n)
	}
	return nil
}
