package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

func testLayout(t *testing.T) layout {
	t.Helper()
	l := layout{t.TempDir()}
	for _, dir := range []string{"pid", "log"} {
		if err := os.MkdirAll(l.run(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// wants reports an error that is not the wanted one; "" is none.
func wants(t *testing.T, what string, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if (want == "") != (got == "") || !strings.Contains(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestNodeNames(t *testing.T) {
	for name, want := range map[string]string{"n1": "", "n9": "", "n0": "is no node", "n10": "is no node", "1": "is no node", "n01": "is no node", "x": "is no node", "": "is no node"} {
		n, err := nodeNamed(name)
		wants(t, name, err, want)
		if err == nil && n.name() != name {
			t.Errorf("%s became %s", name, n.name())
		}
	}
}

// Whatever of two nodes must differ, does.
func TestNodesShareNothing(t *testing.T) {
	seen := map[string]bool{}
	l := layout{"/cache"}
	for i := 1; i <= maxNodes; i++ {
		n := node{i}
		for _, s := range []string{n.name(), n.zone(), n.namespace(), n.address(), n.pods(), n.link(), n.process(), l.node(n)} {
			if seen[s] {
				t.Errorf("%s is of two nodes, or two things of one", s)
			}
			seen[s] = true
		}
		if len(n.link()) > 15 {
			t.Errorf("%s is too long for the name of a link", n.link())
		}
	}
}

func TestNodeCount(t *testing.T) {
	for arg, want := range map[string]string{"1": "", "9": "", "0": "want 1 to 9 nodes", "10": "want 1 to 9 nodes", "x": "want 1 to 9 nodes"} {
		_, err := nodeCount([]string{arg})
		wants(t, arg, err, want)
	}
	if n, err := nodeCount(nil); n != defaultNodes || err != nil {
		t.Errorf("without an argument: %d, %v", n, err)
	}
}

// Every file that is written for a cluster can be rendered, and with nothing missing.
func TestTemplates(t *testing.T) {
	entries, err := files.ReadDir("files")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		for what, f := range map[string]facts{"fabric": fabricFacts(layout{"/cache"}), "node": nodeFacts(layout{"/cache"}, node{2})} {
			text, err := render(e.Name(), f)
			if err != nil || strings.Contains(text, "<no value>") {
				t.Errorf("%s for %s: %v\n%s", e.Name(), what, err, text)
			}
		}
	}
	cni, err := render("cni.json", nodeFacts(layout{"/cache"}, node{2}))
	if err != nil || !json.Valid([]byte(cni)) || !strings.Contains(cni, "10.244.2.0/24") {
		t.Errorf("%v: %s", err, cni)
	}
}

func TestParseStat(t *testing.T) {
	const rest = " 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 1 2 3"
	f := func(stat, start, want string) {
		t.Helper()
		got, err := parseStat([]byte(stat))
		wants(t, stat, err, want)
		if got != start {
			t.Errorf("%s: started at %q, want %q", stat, got, start)
		}
	}
	f("12 (sleep) S"+rest, "777", "")
	f("12 (a) b (c) R) S"+rest, "777", "")
	f("12 (sleep) Z"+rest, "", "it has ended")
	f("12 (sleep) S 1 1", "", "read a process's state")
}

// A process is known by its record until it has ended, and not by its number alone.
func TestProcesses(t *testing.T) {
	l := testLayout(t)
	if err := launch(l, "sleeper", &syscall.SysProcAttr{}, "sleep", "600"); err != nil {
		t.Fatal(err)
	}
	p, alive := launched(l, "sleeper")
	if !alive || !slices.Equal(launchedNames(l), []string{"sleeper"}) {
		t.Fatalf("%v, alive: %v, all: %v", p, alive, launchedNames(l))
	}
	if other := (process{p.pid, p.start + "1"}); other.alive() {
		t.Error("another process with the same number is taken for it")
	}
	if err := end(l, "sleeper"); err != nil {
		t.Fatal(err)
	}
	if _, still := launched(l, "sleeper"); still || p.alive() || len(launchedNames(l)) > 0 {
		t.Error("it has not ended, or its record is there")
	}
	wants(t, "a program that is not there", launch(l, "nothing", &syscall.SysProcAttr{}, "/nowhere/nothing"), "start nothing: ")
}

func TestNodesReady(t *testing.T) {
	f := func(items, want string) {
		t.Helper()
		wants(t, items, nodesReady([]byte(`{"items":[`+items+`]}`), []node{{1}}), want)
	}
	f(`{"metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, "")
	f(`{"metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"False","message":"no network"}]}}`, "node n1 is not ready: no network")
	f(`{"metadata":{"name":"n1"},"spec":{"taints":[{"key":"a/b"}]},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, "node n1 has the taint a/b")
	f(`{"metadata":{"name":"n1"}}`, "node n1 has no condition Ready")
	f(`{"metadata":{"name":"n2"}}`, "node n1 has not registered")
}

func TestVersionFlags(t *testing.T) {
	text, err := os.ReadFile("build/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	flags, err := versionFlags(string(text))
	if err != nil || !strings.Contains(flags, "-X k8s.io/component-base/version.gitVersion=v1.") {
		t.Errorf("%q, %v", flags, err)
	}
	_, err = versionFlags("module x\n")
	wants(t, "no versions", err, "go.mod requires no k8s.io/kubernetes")
}

// Each package that is built is a tool of the module, or in it, so that `go mod tidy` keeps what it needs.
func TestGroupsAreTools(t *testing.T) {
	text, err := os.ReadFile("build/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, tools, _ := strings.Cut(string(text), "tool (")
	seen := map[string]bool{}
	for _, g := range groups {
		for _, b := range g.binaries() {
			if seen[b] {
				t.Errorf("%s is built twice", b)
			}
			seen[b] = true
		}
		for _, p := range g.packages {
			if _, err := os.Stat(filepath.Join("build", p)); err != nil && !strings.Contains(tools, "\t"+p+"\n") {
				t.Errorf("%s is no tool of build/go.mod", p)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	key := func(g group) string {
		t.Helper()
		k, err := g.key(dir)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	write("go.mod", "module x")
	write("go.sum", "")
	write("own/main.go", "package main")
	others, own := group{name: "a", packages: []string{"p"}}, group{name: "a", packages: []string{"p"}, sources: true}
	before, ownBefore := key(others), key(own)
	if key(others) != before {
		t.Error("the key of the same is another")
	}
	write("own/main.go", "package main // changed")
	if key(others) != before || key(own) == ownBefore {
		t.Error("a change of our sources counts for others, or not for our own")
	}
	write("go.sum", "x v1.0.0")
	if key(others) == before {
		t.Error("another version gives the same key")
	}
}

func TestWatchBuildCountsPackages(t *testing.T) {
	var n atomic.Int64
	watchBuild(strings.NewReader("go: downloading a v1\ngo: downloading b v1\na/b\nc\n"), &n)
	if n.Load() != 2 {
		t.Errorf("%d packages, want 2", n.Load())
	}
}

func TestWithoutFolders(t *testing.T) {
	if got := withoutFolders("/a:/b:/c:/b", "/b", "/d"); got != "/a:/c" {
		t.Errorf("got %s", got)
	}
}

// The API server's certificate is good for the addresses by which it is reached, and users are who they say.
func TestPKI(t *testing.T) {
	l := testLayout(t)
	if err := makePKI(l); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(l.pki("ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatalf("no certificate in %s", ca)
	}
	read := func(name string) *x509.Certificate {
		t.Helper()
		pair, err := tls.LoadX509KeyPair(l.pki(name+".crt"), l.pki(name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf
	}
	for _, name := range []string{fabricAddress, "127.0.0.1", apiService, "kubernetes.default.svc"} {
		if _, err := read("apiserver").Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Error(err)
		}
	}
	n := read("node-n2")
	if _, err := n.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	if n.Subject.CommonName != "system:node:n2" || !slices.Equal(n.Subject.Organization, []string{"system:nodes"}) {
		t.Errorf("the node is %v", n.Subject)
	}
	if info, err := os.Stat(l.pki("admin.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the administrator's key: %v, %v", info, err)
	}
}

func TestLastLines(t *testing.T) {
	if got := lastLines("a\nb\nc\n", 2); got != "b\nc" {
		t.Errorf("got %q", got)
	}
	if got := lastLines("a", 2); got != "a" {
		t.Errorf("got %q", got)
	}
}
