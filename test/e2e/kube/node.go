package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Nodes lists the nodes.
func (c *Cluster) Nodes(ctx context.Context) ([]corev1.Node, error) {
	var list corev1.NodeList
	err := c.Get(ctx, "", "nodes", "", &list)
	return list.Items, err
}

// NodeReady is nil when the node's condition Ready is what is wanted.
func (c *Cluster) NodeReady(ctx context.Context, name string, want bool) error {
	var n corev1.Node
	if err := c.Get(ctx, "", "node", name, &n); err != nil {
		return err
	}
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady && (cond.Status == corev1.ConditionTrue) != want {
			return fmt.Errorf("node %s: Ready is %s: %s", name, cond.Status, cond.Message)
		}
	}
	return nil
}

// StopNode kills a node with all that runs on it, as a power cut does. Its disk stays.
func (c *Cluster) StopNode(ctx context.Context, name string) error {
	_, err := c.Tool(ctx, "stop-node", name)
	return err
}

// StartNode starts a node that was stopped and waits until it is ready.
func (c *Cluster) StartNode(ctx context.Context, name string) error {
	_, err := c.Tool(ctx, "start-node", name)
	return err
}

// CutNode unplugs a node's network; what runs on it goes on running.
func (c *Cluster) CutNode(ctx context.Context, name string) error {
	_, err := c.Tool(ctx, "cut-node", name)
	return err
}

// HealNode plugs it in again.
func (c *Cluster) HealNode(ctx context.Context, name string) error {
	_, err := c.Tool(ctx, "heal-node", name)
	return err
}
