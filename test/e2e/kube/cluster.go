package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Cluster is the running cluster, from within. Its methods may be called from any goroutine.
type Cluster struct {
	// Image is the image under test: brokers and operator.
	Image string

	run string // folder of the run
}

// Connect gives the cluster, or skips the test where end-to-end tests were not asked for.
func Connect(t testing.TB) *Cluster {
	t.Helper()
	if os.Getenv(asked) == "" {
		t.Skipf("set %s to run end-to-end tests on the local Kubernetes; `make e2e` does", asked)
	}
	if os.Getenv(inside) == "" {
		t.Fatal("not in the cluster's network: the package needs a TestMain that calls kube.Main")
	}
	c := &Cluster{Image: atHand, run: os.Getenv(runDir)}
	if other := os.Getenv(image); other != "" {
		c.Image = other
	}
	return c
}

// Must ends the test on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Kubectl runs kubectl as administrator and gives its standard output. With a namespace of "", it is kubectl's default or
// one that the arguments name.
func (c *Cluster) Kubectl(ctx context.Context, namespace string, args ...string) (string, error) {
	if namespace != "" {
		args = append([]string{"--namespace", namespace}, args...)
	}
	return command(ctx, nil, "kubectl", args...)
}

// Apply gives manifests, in YAML, to the API server, by server-side apply as the field manager e2e.
func (c *Cluster) Apply(ctx context.Context, namespace, manifests string) error {
	_, err := command(ctx, []byte(manifests), "kubectl", "--namespace", namespace, "apply", "--server-side", "--force-conflicts", "--field-manager=e2e", "-f", "-")
	return err
}

// Helm runs helm as administrator and gives its standard output.
func (c *Cluster) Helm(ctx context.Context, namespace string, args ...string) (string, error) {
	return command(ctx, nil, "helm", append([]string{"--namespace", namespace}, args...)...)
}

// Tool runs a verb of `kube` (hack/kube): load-image, stop-node, ...
func (c *Cluster) Tool(ctx context.Context, args ...string) (string, error) {
	return command(ctx, nil, os.Getenv(tool), args...)
}

// LoadImage gives an image, a docker-archive tar, to all nodes.
func (c *Cluster) LoadImage(ctx context.Context, tar string) error {
	_, err := c.Tool(ctx, "load-image", tar)
	return err
}

// TagImage gives an image that the nodes have a second name, for tests that roll from one image to another.
func (c *Cluster) TagImage(ctx context.Context, from, to string) error {
	nodes, err := c.Nodes(ctx)
	for _, n := range nodes {
		if one := c.tagOn(ctx, n.Name, from, to); one != nil {
			err = errors.Join(err, fmt.Errorf("on node %s: %w", n.Name, one))
		}
	}
	return err
}

func (c *Cluster) tagOn(ctx context.Context, node, from, to string) error {
	ctr := []string{"node", node, "ctr", "--namespace", "k8s.io", "images"}
	known, err := c.Tool(ctx, append(ctr, "list", "--quiet")...)
	if err != nil {
		return err
	}
	have, want, err := renamed(strings.Fields(known), from, to)
	if err != nil {
		return err
	}
	_, err = c.Tool(ctx, append(ctr, "tag", "--force", have, want)...)
	return err
}

// renamed finds the whole name of an image among those that a container runtime knows, with the host and folders that it puts before, and gives
// it and the same for another short name.
func renamed(known []string, from, to string) (have, want string, err error) {
	for _, name := range known {
		if before, found := strings.CutSuffix(name, from); found && (before == "" || strings.HasSuffix(before, "/")) {
			return name, before + to, nil
		}
	}
	return "", "", fmt.Errorf("no image %s; there are %v", from, known)
}

// command runs one to its end. Errors hold what it wrote to standard error.
func command(ctx context.Context, input []byte, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	if input != nil {
		cmd.Stdin = bytes.NewReader(input)
	}
	var out, message bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &message
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(message.String())
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, text)
		if strings.Contains(text, "(NotFound)") {
			err = errors.Join(ErrNotFound, err)
		}
		return out.String(), err
	}
	return out.String(), nil
}
