package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

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
