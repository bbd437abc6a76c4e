package arch

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// The broker's packages keep floors and purity.
func TestBroker(t *testing.T) { check(t, Broker) }

// So do the operator's.
func TestControllers(t *testing.T) { check(t, Controllers) }

func check(t *testing.T, tree Tree) {
	broken, err := Check(tree, read(t, tree))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range broken {
		t.Error(b)
	}
}

// read returns every file of a tree that is not a test.
func read(t *testing.T, tree Tree) []Source {
	t.Helper()
	var sources []Source
	top := filepath.Join(root, tree.Dir)
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		pkg, _ := filepath.Rel(top, filepath.Dir(name))
		sources = append(sources, Source{filepath.ToSlash(pkg), filepath.Base(name), string(text)})
		return err
	})
	if err != nil || len(sources) == 0 {
		t.Fatalf("%d files below %s: %v", len(sources), tree.Dir, err)
	}
	return sources
}

// The broker's program links nothing of Kubernetes, however indirectly.
func TestBrokerLinksNoKubernetes(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", Module+"/cmd/fairlead")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	deps := strings.Fields(string(out))
	if len(deps) < 50 {
		t.Fatalf("only %d packages listed", len(deps))
	}
	for _, d := range deps {
		if strings.Contains(d, "k8s.io/") {
			t.Errorf("cmd/fairlead links %s", d)
		}
	}
}

// Each rule has a piece of source that breaks it, and one beside it that does not.
func TestTheCheckFails(t *testing.T) {
	const doc = "// Package x is documented.\n"
	for _, r := range []struct {
		what, pkg, file, text string
		want                  string // part of the only report; empty: none
	}{
		{"a lower floor", "metactl", "a.go", `package metactl; import _ "github.com/fairlead-io/fairlead/broker/kafka"`, ""},
		{"a higher floor", "record", "a.go", `package record; import _ "github.com/fairlead-io/fairlead/broker/metactl"`, "only lower floors"},
		{"the same floor", "metactl", "a.go", `package metactl; import _ "github.com/fairlead-io/fairlead/broker/group"`, "only lower floors"},
		{"a package beside broker/", "server", "a.go", `package server; import _ "github.com/fairlead-io/fairlead/controllers/plan"`, "imports controllers/plan"},
		{"a package without a floor", "util", "a.go", `package util`, "not in the table of floors"},
		{"Kubernetes", "server", "a.go", `package server; import _ "k8s.io/api/core/v1"`, "imports k8s.io"},
		{"a lock in a pure package", "group", "a.go", `package group; import "sync"; type t struct{ mu sync.Mutex }`, "imports sync"},
		{"a file", "config", "a.go", `package config; import _ "os"`, "imports os"},
		{"a socket", "wire", "a.go", `package wire; import _ "net"`, "imports net"},
		{"an address", "wire", "a.go", `package wire; import _ "net/netip"`, ""},
		{"randomness", "metactl", "a.go", `package metactl; import _ "math/rand/v2"`, "imports math/rand/v2"},
		{"a logger", "metactl", "a.go", `package metactl; import _ "log/slog"`, "imports log/slog"},
		{"a context", "metactl", "a.go", `package metactl; import _ "context"`, "imports context"},
		{"a clock", "metactl", "a.go", `package metactl; import "time"; func f() { _ = time.Now() }`, "time.Now"},
		{"a clock under another name", "metactl", "a.go", `package metactl; import clock "time"; func f() { <-clock.After(1) }`, "time.After"},
		{"a duration", "metactl", "a.go", `package metactl; import "time"; const d = time.Second`, ""},
		{"a goroutine", "replica", "a.go", `package replica; func f() { go f() }`, "starts a goroutine"},
		{"a goroutine in a core", "quorum", "node.go", `package quorum; func f() { go f() }`, "starts a goroutine"},
		{"a goroutine in a core's loop", "quorum", "run.go", `package quorum; func f() { go f() }`, ""},
		{"a goroutine in a shell", "conn", "a.go", `package conn; func f() { go f() }`, ""},
		{"a clock in a core", "partition", "a.go", `package partition; import "time"; func f() { time.Sleep(1) }`, "time.Sleep"},
		{"randomness in a core", "quorum", "a.go", `package quorum; import _ "crypto/rand"`, "outside run*.go"},
		{"a goroutine beside files", "seglog", "a.go", `package seglog; func f() { go f() }`, "starts a goroutine"},
		{"a file beside vfs", "seglog", "a.go", `package seglog; import "os"; func f() { os.Remove("x") }`, "os.Remove beside package vfs"},
		{"a flag of files", "seglog", "a.go", `package seglog; import "os"; const f = os.O_RDWR`, ""},
		{"an allowed pool", "record", "a.go", `package record; import "sync"; type t struct{ p sync.Pool }`, ""},
		{"more than the allowed pool", "record", "a.go", `package record; import "sync"; type t struct{ m sync.Mutex }`, "may not use sync.Mutex"},
		{"a changing global", "group", "a.go", `package group; var n int; func f() { n++ }`, "changes its variable n"},
		{"a changing global map", "group", "a.go", `package group; var m = map[int]int{}; func f() { m[1] = 2 }`, "changes its variable m"},
		{"a local of the same name", "group", "a.go", `package group; var n int; func f() { n := 1; n++ }`, ""},
	} {
		broken, err := Check(Broker, []Source{{r.pkg, "doc.go", doc + "package " + r.pkg}, {r.pkg, r.file, r.text}})
		if err != nil {
			t.Errorf("%s: %v", r.what, err)
			continue
		}
		got := strings.Join(broken, "\n")
		if r.want == "" && got != "" || r.want != "" && (len(broken) != 1 || !strings.Contains(got, r.want)) {
			t.Errorf("%s: reports %q, want one with %q", r.what, broken, r.want)
		}
	}
	if broken, err := Check(Broker, []Source{{"group", "a.go", "package group"}}); err != nil || len(broken) != 1 || !strings.Contains(broken[0], "no package comment") {
		t.Errorf("a package without comment: %q, %v", broken, err)
	}
}

// The operator's tree has its own rules.
func TestTheCheckOfControllersFails(t *testing.T) {
	for _, r := range []struct{ what, pkg, imports, want string }{
		{"a type of Kubernetes in a plan", "plan/cluster", "k8s.io/api/apps/v1", ""},
		{"a client in a plan", "plan/cluster", "sigs.k8s.io/controller-runtime/pkg/client", "is pure and imports"},
		{"a client of Kafka in a plan", "plan/topic", "github.com/twmb/franz-go/pkg/kadm", "is pure and imports"},
		{"a client above the plans", "observe", "sigs.k8s.io/controller-runtime/pkg/client", ""},
		{"the broker's vocabulary", "desired", Module + "/broker/config", ""},
		{"the broker's machines", "plan/cluster", Module + "/broker/metactl", "imports broker/metactl"},
		{"the other plan", "plan/cluster", Module + "/controllers/plan/topic", "only lower floors"},
		{"a plan by a reconciler", ".", Module + "/controllers/plan/topic", ""},
		{"a reconciler by a plan", "plan/topic", Module + "/controllers", "imports controllers"},
	} {
		text := "// Package x is documented.\npackage x; import _ \"" + r.imports + "\""
		broken, err := Check(Controllers, []Source{{r.pkg, "a.go", text}})
		if err != nil {
			t.Errorf("%s: %v", r.what, err)
			continue
		}
		got := strings.Join(broken, "\n")
		if r.want == "" && got != "" || r.want != "" && (len(broken) != 1 || !strings.Contains(got, r.want)) {
			t.Errorf("%s: reports %q, want one with %q", r.what, broken, r.want)
		}
	}
}

// Each exception is still needed.
func TestExceptionsAreUsed(t *testing.T) {
	sources := read(t, Broker)
	for _, e := range Exceptions {
		used := false
		for _, s := range sources {
			used = used || s.Package == e.In && strings.Contains(s.Text, `"`+e.Package+`"`)
		}
		if !used {
			t.Errorf("%s does not import %s: the exception can go", e.In, e.Package)
		}
	}
}

// docs/architecture.md has a row for every package, with its floor and kind.
func TestArchitectureDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[Kind]string{Pure: "pure", IO: "io", Core: "core", Shell: "shell"}
	rows := len(regexp.MustCompile("(?m)^\\| \\d \\| `").FindAll(text, -1))
	if want := len(Broker.Floors) + len(Controllers.Floors); rows != want {
		t.Errorf("the tables have %d packages, there are %d", rows, want)
	}
	for _, tree := range []Tree{Broker, Controllers} {
		for name, f := range tree.Floors {
			if name == "." {
				name = tree.Dir
			}
			if row := fmt.Sprintf("| %d | `%s` | %s | ", f.Level, name, kinds[f.Kind]); !strings.Contains(string(text), row) {
				t.Errorf("no row begins with %q", row)
			}
		}
	}
}
