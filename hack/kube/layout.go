package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Addresses. The fabric is one Ethernet segment; every node has a part of the pods' range and a route to each other's.
const (
	fabric        = "fairlead-kube" // the network namespace of the control plane; a node's is fabric-NAME
	bridge        = "br0"
	fabricAddress = "10.89.0.1"
	serviceRange  = "10.96.0.0/16"
	apiService    = "10.96.0.1"
	dnsService    = "10.96.0.10"
	podRange      = "10.244.0.0/16"
	maxNodes      = 9
	defaultNodes  = 3
)

// hostVariable names, within `kube exec`, the /proc folder of the namespaces from which it was called.
const hostVariable = "FAIRLEAD_KUBE_HOST"

// layout knows where everything is.
type layout struct{ cache string }

func newLayout() (layout, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return layout{}, err
	}
	return layout{filepath.Join(dir, "fairlead-kube")}, nil
}

func (l layout) bin(names ...string) string {
	return filepath.Join(append([]string{l.cache, "bin"}, names...)...)
}

// run is a file of the run, all of which `down` removes.
func (l layout) run(names ...string) string {
	return filepath.Join(append([]string{l.cache, "run"}, names...)...)
}

func (l layout) pki(name string) string { return l.run("pki", name) }
func (l layout) log(name string) string { return l.run("log", name+".log") }
func (l layout) kubeconfig() string     { return l.pki("admin.kubeconfig") }

// node is one node of the cluster; the first is 1.
type node struct{ index int }

func nodeNamed(name string) (node, error) {
	i, err := strconv.Atoi(strings.TrimPrefix(name, "n"))
	if err != nil || i < 1 || i > maxNodes || name != (node{i}).name() {
		return node{}, fmt.Errorf("%q is no node: want n1 to n%d", name, maxNodes)
	}
	return node{i}, nil
}

func (n node) name() string      { return "n" + strconv.Itoa(n.index) }
func (n node) zone() string      { return "z" + strconv.Itoa(n.index) }
func (n node) namespace() string { return fabric + "-" + n.name() }
func (n node) address() string   { return "10.89.0." + strconv.Itoa(10+n.index) }
func (n node) pods() string      { return fmt.Sprintf("10.244.%d.0/24", n.index) }
func (n node) link() string      { return "v-" + n.name() } // the fabric's end of its cable
func (n node) process() string   { return "node-" + n.name() }

func (l layout) node(n node, names ...string) string {
	return l.run(append([]string{n.name()}, names...)...)
}
