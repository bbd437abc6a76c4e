package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	const rest = " 5 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 1 2 3"
	f := func(text string, want stat, wantErr string) {
		t.Helper()
		got, err := parseStat([]byte(text))
		wants(t, text, err, wantErr)
		if got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	f("12 (sleep) S"+rest, stat{'S', 5, "777"}, "")
	f("12 (a) b (c) R) Z"+rest, stat{'Z', 5, "777"}, "")
	f("12 (sleep) S 1 1", stat{}, "read a process's state")
}

func TestAncestors(t *testing.T) {
	if all := ancestors(os.Getpid()); !all[os.Getpid()] || !all[os.Getppid()] || all[0] {
		t.Errorf("%v, want %d and %d among them", all, os.Getpid(), os.Getppid())
	}
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

func TestLastLines(t *testing.T) {
	if got := lastLines("a\nb\nc\n", 2); got != "b\nc" {
		t.Errorf("got %q", got)
	}
	if got := lastLines("a", 2); got != "a" {
		t.Errorf("got %q", got)
	}
}

func TestSameContents(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "x", "b": "x", "c": "y"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := func(a, b string, want bool, wantErr string) {
		t.Helper()
		got, err := sameContents(filepath.Join(dir, a), filepath.Join(dir, b))
		wants(t, a+" and "+b, err, wantErr)
		if got != want {
			t.Errorf("%s and %s are the same: %v", a, b, got)
		}
	}
	f("a", "b", true, "")
	f("a", "c", false, "")
	f("a", "missing", false, "")
	f("missing", "a", false, "no such file")
}
