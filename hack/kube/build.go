package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A group is built by one command, and anew when its key changes.
type group struct {
	name     string
	packages []string          // of the module in build/
	renames  map[string]string // from the name that go gives to the one that is wanted, relative to bin
	sources  bool              // packages that are in build/ itself: their files are part of the key
}

// envtest is the group that tests against a bare API server need.
const envtest = "envtest"

var groups = []group{
	{name: envtest, packages: []string{"go.etcd.io/etcd/server/v3", "k8s.io/kubernetes/cmd/kube-apiserver", "k8s.io/kubernetes/cmd/kubectl"},
		renames: map[string]string{"server": "etcd", "v3": "etcd"}}, // which of the two, depends on the version of go
	{name: "cluster", packages: []string{
		"k8s.io/kubernetes/cmd/kube-controller-manager", "k8s.io/kubernetes/cmd/kube-scheduler", "k8s.io/kubernetes/cmd/kubelet", "k8s.io/kubernetes/cmd/kube-proxy",
		"github.com/containerd/containerd/v2/cmd/containerd", "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", "github.com/containerd/containerd/v2/cmd/ctr",
		"github.com/containernetworking/plugins/plugins/ipam/host-local", "github.com/containernetworking/plugins/plugins/main/bridge",
		"github.com/containernetworking/plugins/plugins/main/loopback", "github.com/containernetworking/plugins/plugins/meta/portmap"},
		renames: map[string]string{"host-local": "cni/host-local", "bridge": "cni/bridge", "loopback": "cni/loopback", "portmap": "cni/portmap"}},
	{name: "own", packages: []string{"./dns", "./provisioner", "./pause"}, sources: true},
	{name: "tools", packages: []string{"helm.sh/helm/v4/cmd/helm", "sigs.k8s.io/controller-tools/cmd/controller-gen"}},
}

// build builds the named groups, or all, as far as they are missing. One build runs at a time.
func build(l layout, names ...string) error {
	for _, n := range names {
		if !slices.ContainsFunc(groups, func(g group) bool { return g.name == n }) {
			return fmt.Errorf("build %s: no such group", n)
		}
	}
	if err := os.MkdirAll(l.bin("cni"), 0o755); err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(l.cache, "build.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	for _, g := range groups {
		if len(names) > 0 && !slices.Contains(names, g.name) {
			continue
		}
		if err := g.build(l); err != nil {
			return fmt.Errorf("build %s: %w", g.name, err)
		}
	}
	return nil
}

func (g group) build(l layout) error {
	dir, err := moduleDir()
	if err != nil {
		return err
	}
	key, err := g.key(dir)
	if err != nil {
		return err
	}
	stamp := l.bin("." + g.name)
	if had, err := os.ReadFile(stamp); err == nil && string(had) == key && g.complete(l) {
		return nil
	}
	flags, err := versions(dir)
	if err != nil {
		return err
	}
	begin := time.Now()
	say("building %s: %s", g.name, strings.Join(g.binaries(), " "))
	args := append([]string{"build", "-v", "-ldflags", flags, "-o", l.bin() + "/"}, g.packages...)
	if err := goBuild(l, dir, args); err != nil {
		return err
	}
	for from, to := range g.renames {
		if err := os.Rename(l.bin(from), l.bin(to)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if !g.complete(l) {
		return fmt.Errorf("the build made other files than %s", strings.Join(g.binaries(), " "))
	}
	say("built %s in %.0f s", g.name, time.Since(begin).Seconds())
	return os.WriteFile(stamp, []byte(key), 0o644)
}

// binaries are the names of what is built, below bin.
func (g group) binaries() []string {
	var names []string
	for _, p := range g.packages {
		name := filepath.Base(p)
		if to, renamed := g.renames[name]; renamed {
			name = to
		}
		names = append(names, name)
	}
	return names
}

func (g group) complete(l layout) bool {
	for _, b := range g.binaries() {
		if _, err := os.Stat(l.bin(b)); err != nil {
			return false
		}
	}
	return true
}

// key changes with what the binaries are made of: the versions of all modules, the packages, the compiler.
func (g group) key(dir string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, goVersion(), g.packages)
	files := []string{filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")}
	if g.sources {
		own, err := filepath.Glob(filepath.Join(dir, "*", "*.go"))
		if err != nil {
			return "", err
		}
		files = append(files, own...)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// goEnvironment keeps the caches of this build together, so that a machine may keep or drop them as one. -trimpath is
// not used: packages compiled with it are shared with no ordinary build.
func goEnvironment(l layout) []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-buildvcs=false -modcacherw",
		"GOCACHE="+filepath.Join(l.cache, "gocache"), "GOMODCACHE="+filepath.Join(l.cache, "gomod"), "GOPATH="+filepath.Join(l.cache, "gopath"))
}

// goBuild runs go and tells every progressEvery how many packages are done.
func goBuild(l layout, dir string, args []string) error {
	const progressEvery = 20 * time.Second
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env, cmd.Stdout = dir, goEnvironment(l), os.Stderr
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var packages atomic.Int64
	read := make(chan struct{})
	go func() { defer close(read); watchBuild(pipe, &packages) }()
	begin := time.Now()
	for done := false; !done; {
		select {
		case <-read:
			done = true
		case <-time.After(progressEvery):
			say("  %d packages compiled, %.0f s", packages.Load(), time.Since(begin).Seconds())
		}
	}
	return cmd.Wait()
}

// watchBuild counts the lines of `go build -v`, which are packages, and passes on what is not: errors, and of downloads
// only that there are some.
func watchBuild(output io.Reader, packages *atomic.Int64) {
	downloads := 0
	for lines := bufio.NewScanner(output); lines.Scan(); {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "go: downloading "):
			if downloads++; downloads == 1 {
				say("  downloading modules")
			}
		case !strings.ContainsAny(line, " \t") && line != "":
			packages.Add(1)
		default:
			fmt.Fprintln(os.Stderr, line)
		}
	}
}

// lock waits for an exclusive lock on a file.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return func() { f.Close() }, nil
}

// say reports progress. Standard output belongs to verbs with an answer.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "kube: "+format+"\n", args...) }
