package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

const nodesLimit = 3 * time.Minute // until nodes are ready; ten seconds are usual

// running says whether there is a cluster: a control plane that was started to the end, and lives.
func running(l layout) bool {
	if _, err := os.Stat(l.complete()); err != nil {
		return false
	}
	for _, d := range append(api(l), controllers(l)...) {
		if _, alive := launched(l, d.name); !alive {
			return false
		}
	}
	return true
}

// complete is there once the control plane is.
func (l layout) complete() string { return l.run("complete") }

// up starts a cluster, or completes a running one.
func up(l layout, args []string) error {
	count, err := nodeCount(args)
	if err != nil {
		return err
	}
	if err := build(l); err != nil {
		return err
	}
	if err := installPackages(); err != nil {
		return err
	}
	begin := time.Now()
	if !running(l) {
		if err := down(l); err != nil { // of a run that ended without it
			return fmt.Errorf("remove an earlier run: %w", err)
		}
		if namespaceExists(fabric) {
			return fmt.Errorf("the network namespace %s exists and is not of a run below %s: another user's cluster?", fabric, l.run())
		}
		if err := startControlPlane(l); err != nil {
			return err
		}
		say("API server ready, %.1f s", time.Since(begin).Seconds())
	} else if err := startDaemons(l, addons(l)); err != nil { // those that have ended meanwhile
		return err
	}
	var nodes []node
	for i := 1; i <= count; i++ {
		nodes = append(nodes, node{i})
	}
	if err := startNodes(l, nodes); err != nil {
		return err
	}
	say("%d nodes ready, %.1f s; audit log: %s", count, time.Since(begin).Seconds(), l.run("log", "audit.log"))
	return nil
}

func startControlPlane(l layout) error {
	for _, dir := range []string{"pid", "log", "images", "volumes", "kubecache"} {
		if err := os.MkdirAll(l.run(dir), 0o755); err != nil {
			return err
		}
	}
	if err := makePKI(l); err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	if err := makeFabric(); err != nil {
		return fmt.Errorf("make the network: %w", err)
	}
	f := fabricFacts(l)
	for name, target := range map[string]string{"audit-policy.yaml": "audit-policy.yaml", "proxy.yaml": "fabric-proxy.yaml", "Corefile": "Corefile", "addons.yaml": "addons.yaml"} {
		if err := place(name, l.run(target), 0o644, f); err != nil {
			return err
		}
	}
	if err := os.WriteFile(l.run("resolv.conf"), []byte("nameserver "+fabricAddress+"\nsearch svc.cluster.local cluster.local\n"), 0o644); err != nil {
		return err
	}
	if err := writeWrappers(l); err != nil {
		return err
	}
	if err := makePauseImage(l); err != nil {
		return err
	}
	if err := startDaemons(l, api(l)); err != nil {
		return err
	}
	if err := awaitAPI(l); err != nil {
		return err
	}
	if err := startDaemons(l, controllers(l)); err != nil {
		return err
	}
	if _, err := kubectl(l, "apply", "-f", l.run("addons.yaml")); err != nil {
		return err
	}
	if err := startDaemons(l, addons(l)); err != nil {
		return err
	}
	return os.WriteFile(l.complete(), nil, 0o644)
}

// startNodes starts the nodes that are not running, and waits until all are ready: with that condition and no taint left.
func startNodes(l layout, nodes []node) error {
	var wanted []readiness
	for _, n := range nodes {
		w := readiness{node: n}
		if _, alive := launched(l, n.process()); !alive {
			w.since = time.Now().Truncate(time.Second) // the precision of what nodes say
			if err := startNode(l, n); err != nil {
				return fmt.Errorf("start node %s: %w", n.name(), err)
			}
		}
		wanted = append(wanted, w)
	}
	err := await(nodesLimit, func() error {
		for _, n := range nodes {
			if _, alive := launched(l, n.process()); !alive {
				return fmt.Errorf("node %s ended: see %s", n.name(), l.log(n.process()))
			}
		}
		text, err := kubectl(l, "get", "nodes", "-o", "json")
		if err != nil {
			return err
		}
		return nodesReady([]byte(text), wanted)
	})
	if err != nil {
		return fmt.Errorf("wait for nodes: %w", err)
	}
	return nil
}

// down ends everything and removes every trace of the run, also of one that has ended half.
func down(l layout) error {
	var failed []error
	names := launchedNames(l)
	for _, nodes := range []bool{true, false} { // a node that lost its API server would only write logs
		for _, name := range names {
			if strings.HasPrefix(name, "node-") == nodes {
				failed = append(failed, end(l, name))
			}
		}
	}
	if _, err := os.Stat(l.run()); err == nil || len(names) > 0 {
		failed = append(failed, endStrays(l), removeNetworks())
	}
	failed = append(failed, removeRun(l))
	return errors.Join(failed...)
}

// removeRun removes the folder of the run. Mounts in it were the nodes' own and went with them; should one be left, it is
// named instead of being emptied.
func removeRun(l layout) error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	for _, line := range strings.Split(string(mounts), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && strings.HasPrefix(fields[1], l.run()+"/") {
			return fmt.Errorf("remove %s: %s is a mount; unmount it first", l.run(), fields[1])
		}
	}
	// Strays that were killed may still be ending, and make a file meanwhile.
	return await(goneLimit, func() error { return os.RemoveAll(l.run()) })
}
