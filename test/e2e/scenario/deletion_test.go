package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/e2e/kube"
)

// gone is nil when there is no such object any more.
func gone(ctx context.Context, c *kube.Cluster, namespace, kind, name string) error {
	var o struct {
		Metadata struct{ Finalizers []string }
		Status   struct {
			Conditions []struct{ Type, Status, Reason, Message string }
		}
	}
	err := c.Get(ctx, namespace, kind, name, &o)
	if errors.Is(err, kube.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%s %s is still there: %+v", kind, name, o)
	}
	return err
}

func fiveTopics() string {
	var all strings.Builder
	for i := range 5 {
		all.WriteString(topicManifest(fmt.Sprintf("t%d", i), "partitions: 1", "replicationFactor: 1", "deletionPolicy: Delete") + "---")
	}
	return all.String()
}

func deleteNamespace(t *testing.T, c *kube.Cluster, namespace string) {
	t.Helper()
	_, err := c.Kubectl(t.Context(), "", "delete", "namespace", namespace, "--wait=true", "--timeout="+namespaceLimit.String())
	kube.Must(t, err)
}

// Nothing outlives what it waits for, in whatever order things go.
func TestC43FinalizersNeverHang(t *testing.T) {
	c := connect(t)
	ready := func(t *testing.T) string {
		namespace := newCluster(t, c, 1)
		kube.Must(t, c.Apply(t.Context(), namespace, fiveTopics()))
		for i := range 5 {
			awaitReady(t, c, namespace, fmt.Sprintf("topic/t%d", i))
		}
		return namespace
	}
	t.Run("a namespace with a cluster and topics", func(t *testing.T) {
		deleteNamespace(t, c, ready(t))
	})
	t.Run("with the operator in it", func(t *testing.T) {
		scaleOperator(t, c, system, 0)
		defer scaleOperator(t, c, system, 1)
		namespace := c.Namespace(t)
		install(t, c, namespace, "watchNamespace="+namespace, "crds.install=false")
		kube.Must(t, c.Apply(t.Context(), namespace, clusterManifest(1)))
		awaitReady(t, c, namespace, "cluster/x")
		kube.Must(t, c.Apply(t.Context(), namespace, fiveTopics()))
		awaitReady(t, c, namespace, "topic/t4")
		deleteNamespace(t, c, namespace)
	})
	t.Run("cluster and topics at once", func(t *testing.T) {
		namespace := ready(t)
		_, err := c.Kubectl(t.Context(), namespace, "delete", "clusters.fairlead.io,topics.fairlead.io", "--all", "--wait=true", "--timeout="+namespaceLimit.String())
		kube.Must(t, err)
	})

	namespace := ready(t)
	t.Run("a topic deleted while no operator runs", func(t *testing.T) {
		scaleOperator(t, c, system, 0)
		_, err := c.Kubectl(t.Context(), namespace, "delete", "topic.fairlead.io/t0", "--wait=false")
		kube.Must(t, err)
		scaleOperator(t, c, system, 1)
		c.Await(t, settle, "t0 gone", func(ctx context.Context) error { return gone(ctx, c, namespace, "topics.fairlead.io", "t0") })
		if exists(t, namespace, "t0") {
			t.Error("the topic itself is still there")
		}
	})
	t.Run("a topic deleted in Kafka first", func(t *testing.T) {
		// Paused, the operator does not make it again in between.
		patch(t, c, namespace, "cluster/x", map[string]any{"paused": true})
		_, err := admin(t, namespace).DeleteTopics(t.Context(), "t1")
		kube.Must(t, err)
		_, err = c.Kubectl(t.Context(), namespace, "delete", "topic.fairlead.io/t1", "--wait=false")
		kube.Must(t, err)
		patch(t, c, namespace, "cluster/x", map[string]any{"paused": false})
		c.Await(t, settle, "t1 gone", func(ctx context.Context) error { return gone(ctx, c, namespace, "topics.fairlead.io", "t1") })
	})
	t.Run("a topic deleted while no broker answers", func(t *testing.T) {
		kube.Must(t, c.Freeze(t.Context(), namespace, "x-0"))
		_, err := c.Kubectl(t.Context(), namespace, "delete", "topic.fairlead.io/t2", "--wait=false")
		kube.Must(t, err)
		c.Await(t, settle, "the reason told", func(ctx context.Context) error {
			return c.Condition(ctx, namespace, "topic/t2", "Ready", "Unknown")
		})
		kube.Must(t, c.Thaw(t.Context(), namespace, "x-0"))
		c.Await(t, settle, "t2 gone", func(ctx context.Context) error { return gone(ctx, c, namespace, "topics.fairlead.io", "t2") })
	})
	t.Run("a topic that is kept", func(t *testing.T) {
		kube.Must(t, c.Apply(t.Context(), namespace, topicManifest("kept", "partitions: 1", "replicationFactor: 1")))
		awaitReady(t, c, namespace, "topic/kept")
		_, err := c.Kubectl(t.Context(), namespace, "delete", "topic.fairlead.io/kept", "--wait=true", "--timeout=30s")
		kube.Must(t, err)
		if !exists(t, namespace, "kept") {
			t.Error("the topic is gone, though its policy is Retain")
		}
	})
}

// exists tells whether there is a topic.
func exists(t *testing.T, namespace, name string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	all, err := admin(t, namespace).ListTopics(ctx)
	kube.Must(t, err)
	return all.Has(name)
}
