package kube

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	namespaceLimit = 2 * time.Minute // of the deletion of a test's namespace
	logLines       = 40              // of each container, when a test failed
)

// Namespace makes a namespace for a test. When the test has failed, what was in it is logged; then it is deleted, and that
// it goes is part of every test: whatever holds it, fails it.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	name := namespaceName(t.Name(), strings.ToLower(rand.Text()))
	_, err := c.Kubectl(t.Context(), "", "create", "namespace", name)
	Must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), namespaceLimit) // the test's own has ended
		defer cancel()
		if t.Failed() {
			t.Log(c.Describe(ctx, name))
		}
		if _, err := c.Kubectl(ctx, "", "delete", "namespace", name, "--wait=true", "--ignore-not-found"); err != nil {
			left, _ := c.Kubectl(context.Background(), "", "get", "namespace", name, "--output=jsonpath={.status.conditions}")
			t.Errorf("the namespace stays: %v; its conditions: %s", err, left)
		}
	})
	return name
}

// namespaceName is a DNS label with the test's name in it.
func namespaceName(test, random string) string {
	const longest = 40
	label := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(strings.TrimPrefix(test, "Test")), "-"), "-")
	label = strings.Trim(label[:min(len(label), longest)], "-")
	return strings.Trim("e2e-"+label, "-") + "-" + random[:5]
}

// Describe is what a person would look at first: objects, events, conditions, the ends of logs.
func (c *Cluster) Describe(ctx context.Context, namespace string) string {
	var b strings.Builder
	show := func(title string, args ...string) {
		out, err := c.Kubectl(ctx, namespace, args...)
		if err != nil {
			out += err.Error()
		}
		fmt.Fprintf(&b, "--- %s\n%s\n", title, strings.TrimRight(out, "\n"))
	}
	show("nodes", "get", "nodes")
	show("objects", "get", "all,persistentvolumeclaims,poddisruptionbudgets", "--output=wide")
	show("events", "get", "events", "--sort-by=.lastTimestamp")
	pods, err := c.Pods(ctx, namespace, "")
	if err != nil {
		fmt.Fprintf(&b, "--- pods: %v\n", err)
	}
	for _, p := range pods {
		tail := fmt.Sprint("--tail=", logLines)
		show("log of "+p.Name, "logs", p.Name, "--all-containers", "--prefix", tail)
		if p.Restarts() > 0 {
			show("log of "+p.Name+" before its last restart", "logs", p.Name, "--previous", tail)
		}
	}
	return b.String()
}
