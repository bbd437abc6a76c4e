package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

const usage = `kube: a local Kubernetes cluster

  kube up [N]                start N nodes n1..nN (default 3); a running cluster is kept and gets the nodes it lacks
  kube down                  end the cluster; nothing of it stays but the cache of built binaries
  kube load-image TAR...     give images (docker-archive) to all nodes, also to those that start later
  kube stop-node NAME        kill a node, as a power cut does; start-node NAME brings it back with its disk
  kube cut-node NAME         unplug a node's network; heal-node NAME plugs it in again
  kube kubectl|helm ARG...   with the cluster's credentials
  kube exec COMMAND ARG...   run something in the cluster's network, with the cluster's names
  kube node NAME COMMAND...  run something inside a node
  kube env                   settings for a shell: eval "$(kube env)"
  kube build [GROUP...]      build what is missing: envtest, cluster, tools; default all
  kube assets                build what envtest needs and print its folder, for KUBEBUILDER_ASSETS
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	err := run(os.Args[1], os.Args[2:])
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 {
		os.Exit(exit.ExitCode()) // a command that was passed through has said why
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "kube: %v\n", err)
		os.Exit(1)
	}
}

func run(verb string, args []string) error {
	if verb == "help" || verb == "-h" || verb == "--help" {
		fmt.Print(usage)
		return nil
	}
	if host := os.Getenv(hostVariable); host != "" {
		return onHost(host) // called from within `kube exec`
	}
	// Debian's login shells of root have them, others need not: nft, iptables, ip.
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin"); err != nil {
		return err
	}
	l, err := newLayout()
	if err != nil {
		return err
	}
	switch verb {
	case "build":
		return build(l, args...)
	case "assets":
		if err := build(l, envtest); err != nil {
			return err
		}
		fmt.Println(l.bin())
		return nil
	case "env":
		return printEnvironment(l)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("%s: must be root: namespaces and mounts are made", verb)
	}
	switch verb {
	case "up":
		return alone(l, func() error { return up(l, args) })
	case "down":
		return alone(l, func() error { return down(l) })
	case "node-init":
		return nodeInit(l, args)
	}
	if !running(l) {
		return fmt.Errorf("%s: no cluster is running: kube up", verb)
	}
	return runningVerb(l, verb, args)
}

func runningVerb(l layout, verb string, args []string) error {
	switch verb {
	case "load-image":
		return alone(l, func() error { return loadImages(l, args) })
	case "kubectl", "helm":
		return passthrough(l, append([]string{l.bin(verb)}, args...))
	case "exec":
		return passthrough(l, args)
	}
	if len(args) == 0 {
		return fmt.Errorf("%s: unknown verb, or the name of a node is missing; kube help", verb)
	}
	n, err := nodeNamed(args[0])
	if err != nil {
		return err
	}
	switch verb {
	case "stop-node":
		return alone(l, func() error { return stopNode(l, n) })
	case "start-node":
		return alone(l, func() error { return startNodes(l, []node{n}) })
	case "cut-node":
		return cutNode(n)
	case "heal-node":
		return healNode(n)
	case "node":
		return inNode(l, n, args[1:])
	}
	return fmt.Errorf("%s: unknown verb; kube help", verb)
}

// alone does what starts or ends processes while nobody else does.
func alone(l layout, f func() error) error {
	if err := os.MkdirAll(l.cache, 0o755); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(l.cache, "run.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	return f()
}

// nodeCount is the number of nodes that `up` is asked for.
func nodeCount(args []string) (int, error) {
	if len(args) == 0 {
		return defaultNodes, nil
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 || n > maxNodes {
		return 0, fmt.Errorf("up %s: want 1 to %d nodes", args[0], maxNodes)
	}
	return n, nil
}
