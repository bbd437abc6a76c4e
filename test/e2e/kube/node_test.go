package kube

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A node is killed, comes back, is cut off and healed; its zone is the label that it says.
func TestNodeLossAndReturn(t *testing.T) {
	c := Connect(t)
	const name = "n3"
	is := func(ready bool) func(context.Context) error {
		return func(ctx context.Context) error { return c.NodeReady(ctx, name, ready) }
	}
	nodes, err := c.Nodes(t.Context())
	Must(t, err)
	for _, n := range nodes {
		if want := "z" + n.Name[1:]; n.Labels[corev1.LabelTopologyZone] != want {
			t.Errorf("node %s is in zone %s, want %s", n.Name, n.Labels[corev1.LabelTopologyZone], want)
		}
	}
	t.Cleanup(func() { Must(t, c.StartNode(context.Background(), name)) }) // whatever happens, others find it running
	Must(t, c.StopNode(t.Context(), name))
	c.Await(t, step, "killed node not ready", is(false))
	Must(t, c.StartNode(t.Context(), name))
	c.Await(t, step, "node ready again", is(true))

	t.Cleanup(func() { Must(t, c.HealNode(context.Background(), name)) })
	Must(t, c.CutNode(t.Context(), name))
	c.Await(t, step, "node that is cut off not ready", is(false))
	Must(t, c.HealNode(t.Context(), name))
	c.Await(t, step, "healed node ready", is(true))
}
