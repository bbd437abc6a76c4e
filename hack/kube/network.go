package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

func namespacePath(name string) string { return filepath.Join("/run/netns", name) }

// within gives the words of a command that runs in a network namespace. nsenter, not `ip netns exec`: that one would mount
// another /sys.
func within(namespace string, args ...string) []string {
	return append([]string{"nsenter", "--net=" + namespacePath(namespace), "--"}, args...)
}

// command runs one to its end; its output is in the error.
func command(args ...string) error {
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// commands runs several, until one fails. Each is one string of words without spaces in them.
func commands(namespace string, lines ...string) error {
	for _, line := range lines {
		if err := command(within(namespace, strings.Fields(line)...)...); err != nil {
			return err
		}
	}
	return nil
}

func namespaceExists(name string) bool {
	_, err := os.Stat(namespacePath(name))
	return err == nil
}

// makeFabric makes the control plane's network: one bridge, no way out of the machine.
func makeFabric() error {
	if namespaceExists(fabric) {
		return nil
	}
	if err := command("ip", "netns", "add", fabric); err != nil {
		return err
	}
	return commands(fabric,
		"ip link set lo up",
		"ip link add "+bridge+" type bridge",
		"ip addr add "+fabricAddress+"/24 dev "+bridge,
		"ip link set "+bridge+" up",
		"ip route replace "+serviceRange+" dev "+bridge+" src "+fabricAddress, // kube-proxy's rules then see packets to Services
		"sysctl -qw net.ipv4.ip_forward=1")
}

// makeNodeNetwork makes a node's namespace, its cable to the bridge and the routes to and from its pods.
func makeNodeNetwork(n node) error {
	if namespaceExists(n.namespace()) {
		return nil
	}
	if err := command("ip", "netns", "add", n.namespace()); err != nil {
		return err
	}
	if err := commands(fabric,
		"ip link add "+n.link()+" type veth peer name eth0 netns "+namespacePath(n.namespace()),
		"ip link set "+n.link()+" master "+bridge+" up",
		n.fabricRoute()); err != nil {
		return err
	}
	lines := []string{
		"ip link set lo up",
		"ip addr add " + n.address() + "/24 dev eth0",
		"ip link set eth0 up",
		"ip route add default via " + fabricAddress,
		"sysctl -qw net.ipv4.ip_forward=1",
	}
	for i := 1; i <= maxNodes; i++ {
		if other := (node{i}); other != n {
			lines = append(lines, "ip route add "+other.pods()+" via "+other.address())
		}
	}
	return commands(n.namespace(), lines...)
}

// fabricRoute is the fabric's way to the node's pods. The kernel drops it with the link.
func (n node) fabricRoute() string { return "ip route replace " + n.pods() + " via " + n.address() }

func cutNode(n node) error { return commands(fabric, "ip link set "+n.link()+" down") }

func healNode(n node) error {
	return commands(fabric, "ip link set "+n.link()+" up", n.fabricRoute())
}

// removeNetworks removes all namespaces of the cluster, and with them their links and routes.
func removeNetworks() error {
	names, err := filepath.Glob(namespacePath(fabric + "*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := command("ip", "netns", "del", filepath.Base(name)); err != nil {
			return err
		}
	}
	// `ip netns add` has made this folder a mount of its own.
	dir := filepath.Dir(namespacePath(fabric))
	left, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || len(left) > 0 {
		return nil // it is somebody else's as well
	}
	if err != nil {
		return err
	}
	if err := syscall.Unmount(dir, 0); err != nil && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("unmount %s: %w", dir, err)
	}
	return os.Remove(dir)
}
