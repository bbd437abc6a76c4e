package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// moduleDir is the folder of the module whose tools are built. The script `kube` says where the sources are.
func moduleDir() (string, error) {
	source := os.Getenv("FAIRLEAD_KUBE_SOURCE")
	if source == "" {
		return "", errors.New("FAIRLEAD_KUBE_SOURCE does not name hack/kube: call hack/kube/kube")
	}
	return filepath.Join(source, "build"), nil
}

func goVersion() string {
	out, err := exec.Command("go", "env", "GOVERSION").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// versions are the linker flags that tell programs what they are, as their own builds would: kubelet and API server
// compare versions.
func versions(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", err
	}
	return versionFlags(string(text))
}

func versionFlags(goMod string) (string, error) {
	version := map[string]string{}
	for _, module := range []string{"k8s.io/kubernetes", "github.com/containerd/containerd/v2", "helm.sh/helm/v4"} {
		found := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(module) + ` (v[0-9]+\.[0-9]+\.[0-9]+)\b`).FindStringSubmatch(goMod)
		if found == nil {
			return "", fmt.Errorf("go.mod requires no %s", module)
		}
		version[module] = found[1]
	}
	kubernetes := version["k8s.io/kubernetes"]
	parts := strings.Split(strings.TrimPrefix(kubernetes, "v"), ".")
	flags := []string{"-s", "-w"}
	set := func(variable, value string) { flags = append(flags, "-X", variable+"="+value) }
	const k8s = "k8s.io/component-base/version."
	set(k8s+"gitVersion", kubernetes)
	set(k8s+"gitMajor", parts[0])
	set(k8s+"gitMinor", parts[1])
	set(k8s+"gitTreeState", "clean")
	set(k8s+"gitCommit", strings.Repeat("0", 40))
	set(k8s+"buildDate", "2026-01-01T00:00:00Z") // a build of today is no other build
	set("github.com/containerd/containerd/v2/version.Version", version["github.com/containerd/containerd/v2"])
	set("helm.sh/helm/v4/internal/version.version", version["helm.sh/helm/v4"])
	return strings.Join(flags, " "), nil
}
