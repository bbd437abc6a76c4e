package kube

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Variables by which tests, Makefile and `kube exec` talk.
const (
	asked     = "FAIRLEAD_E2E"           // set: run end-to-end tests
	inside    = "FAIRLEAD_KUBE_HOST"     // set by `kube exec`
	runDir    = "FAIRLEAD_KUBE_RUN"      // set by `kube exec`: folder of the run
	tool      = "FAIRLEAD_KUBE"          // set by `kube exec`: the program
	image     = "FAIRLEAD_E2E_IMAGE"     // the image under test
	script    = "hack/kube/kube"         // from the root of the repository
	imageFile = "bin/fairlead-image.tar" // from there as well: what `make image` writes
	atHand    = "fairlead:dev"           // the image in it
	marker    = "hack/kube/files"        // exists in the root of the repository only
)

// Options describe the cluster that a package of tests wants.
type Options struct {
	Nodes int // at least; 0: 3
}

// Main runs a package's tests: inside the cluster when end-to-end tests were asked for, and otherwise here, where Connect
// skips them. It does not return.
func Main(m *testing.M, o Options) {
	if os.Getenv(asked) != "" && os.Getenv(inside) == "" {
		fmt.Fprintln(os.Stderr, "end-to-end tests:", enter(o))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// enter starts the cluster and becomes `kube exec` of this very program; it returns only if that fails.
func enter(o Options) error {
	root, err := Root()
	if err != nil {
		return err
	}
	program := filepath.Join(root, script)
	up := exec.Command(program, "up", strconv.Itoa(max(o.Nodes, 3)))
	up.Stdout, up.Stderr = os.Stderr, os.Stderr
	if err := up.Run(); err != nil {
		return fmt.Errorf("start the cluster: %w", err)
	}
	load := exec.Command(program, "load-image", filepath.Join(root, imageFile))
	load.Stdout, load.Stderr = os.Stderr, os.Stderr
	if err := load.Run(); err != nil {
		return fmt.Errorf("load the image, which `make image` builds: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append([]string{program, "exec", self}, os.Args[1:]...)
	return syscall.Exec(program, args, os.Environ())
}

// Root is the folder of the repository, above the working directory of tests.
func Root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, marker)); missing == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("find the repository: no folder above has " + marker)
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
