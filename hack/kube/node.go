package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

const containerdSocket = "/run/containerd/containerd.sock" // the same in every node: /run is the node's own

// startNode starts a node's first process: this program, in namespaces of its own. What a node kept on its disk, it finds
// again.
func startNode(l layout, n node) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := makeNodeNetwork(n); err != nil {
		return err
	}
	f := nodeFacts(l, n)
	for _, file := range []struct {
		name, target string
		mode         os.FileMode
	}{
		{"containerd.toml", "containerd.toml", 0o644},
		{"cni.json", "cni/10-bridge.conflist", 0o644},
		{"kubelet.yaml", "kubelet.yaml", 0o644},
		{"proxy.yaml", "proxy.yaml", 0o644},
		{"crun", "crun", 0o755},
	} {
		if err := place(file.name, l.node(n, file.target), file.mode, f); err != nil {
			return err
		}
	}
	if err := os.WriteFile(l.node(n, "resolv.conf"), nil, 0o644); err != nil {
		return err
	}
	namespaces := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC}
	return launch(l, n.process(), namespaces, within(n.namespace(), self, "node-init", n.name())...)
}

// stopNode kills a node's first process and with it, since that is what the kernel does, every process of the node; its
// mounts go with the last of them. Disk and cable stay.
func stopNode(l layout, n node) error {
	if _, alive := launched(l, n.process()); !alive {
		return fmt.Errorf("stop-node %s: it is not running", n.name())
	}
	return end(l, n.process())
}

// insideNode gives the words of a command that runs in a node. Before a node has started there is no such place, and the
// command says so.
func insideNode(l layout, n node, args ...string) []string {
	p, _ := launched(l, n.process())
	return append([]string{"nsenter", "--target", strconv.Itoa(p.pid), "--mount", "--pid", "--net", "--uts", "--ipc", "--"}, args...)
}

// inNode runs a command in a node, with the terminal.
func inNode(l layout, n node, args []string) error {
	if len(args) == 0 {
		return errors.New("node: name a command")
	}
	if _, alive := launched(l, n.process()); !alive {
		return fmt.Errorf("node %s: it is not running", n.name())
	}
	env := append(clusterEnvironment(l), "CONTAINERD_ADDRESS="+containerdSocket, "CONTAINERD_NAMESPACE=k8s.io")
	return foreground(insideNode(l, n, args...), env)
}
