package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

type variable struct{ name, value string }

// environment is what a process in the fabric needs to talk to the cluster.
func environment(l layout) []variable {
	return []variable{
		{"KUBECONFIG", l.kubeconfig()},
		{"KUBECACHEDIR", l.run("kubecache")},
		{"HELM_CACHE_HOME", l.run("helm", "cache")},
		{"HELM_CONFIG_HOME", l.run("helm", "config")},
		{"HELM_DATA_HOME", l.run("helm", "data")},
		{"PATH", l.bin() + ":" + withoutFolders(os.Getenv("PATH"), l.bin(), l.wrappers())},
		{"FAIRLEAD_KUBE", l.bin("kube")},
		{"FAIRLEAD_KUBE_RUN", l.run()},
		{"FAIRLEAD_KUBE_NETNS", namespacePath(fabric)},
	}
}

// clusterEnvironment is that with everything else that this process has.
func clusterEnvironment(l layout) []string {
	env := os.Environ()
	for _, v := range environment(l) {
		env = append(env, v.name+"="+v.value)
	}
	return env
}

// printEnvironment is for a shell outside the fabric: there, kubectl and helm are wrappers that enter it.
func printEnvironment(l layout) error {
	for _, v := range environment(l) {
		if v.name == "PATH" {
			v.value = l.wrappers() + ":" + v.value
		}
		fmt.Printf("export %s='%s'\n", v.name, strings.ReplaceAll(v.value, "'", `'\''`))
	}
	return nil
}

func (l layout) wrappers() string { return l.run("bin") }

func writeWrappers(l layout) error {
	if err := os.MkdirAll(l.wrappers(), 0o755); err != nil {
		return err
	}
	for _, name := range []string{"kubectl", "helm"} {
		text := fmt.Sprintf("#!/bin/sh\nexec '%s' %s \"$@\"\n", l.bin("kube"), name)
		if err := os.WriteFile(filepath.Join(l.wrappers(), name), []byte(text), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// withoutFolders is a search path without some of its folders.
func withoutFolders(path string, folders ...string) string {
	var kept []string
next:
	for _, f := range filepath.SplitList(path) {
		for _, no := range folders {
			if f == no {
				continue next
			}
		}
		kept = append(kept, f)
	}
	return strings.Join(kept, ":")
}
