package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// needs are the programs of the machine that a cluster uses, with the Debian package of each.
var needs = []struct{ program, pkg string }{
	{"crun", "crun"},          // runs containers
	{"nft", "nftables"},       // kube-proxy's Services
	{"iptables", "iptables"},  // host ports of pods, by the portmap plugin
	{"ip", "iproute2"},        // links, routes and network namespaces
	{"nsenter", "util-linux"}, // to enter them
	{"mount", "util-linux"},   // the kubelet mounts volumes with it
}

// installPackages installs what is missing, where apt-get can.
func installPackages() error {
	var programs, pkgs []string
	for _, n := range needs {
		if _, err := exec.LookPath(n.program); err != nil {
			programs, pkgs = append(programs, n.program), append(pkgs, n.pkg)
		}
	}
	if len(pkgs) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("%s: not on this machine; install %s", strings.Join(programs, ", "), strings.Join(pkgs, " "))
	}
	say("installing %s", strings.Join(pkgs, " "))
	install := append([]string{"install", "-q", "-y", "--no-install-recommends"}, pkgs...)
	if err := apt(install); err == nil {
		return nil
	}
	// The lists of packages may be missing or older than what the mirror has.
	if err := apt([]string{"update", "-q"}); err != nil {
		return err
	}
	return apt(install)
}

func apt(args []string) error {
	cmd := exec.Command("apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("apt-get %s: %w: %s", strings.Join(args, " "), err, lastLines(string(out), 5))
	}
	return nil
}

// lastLines are the last n lines of a text.
func lastLines(text string, n int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-n):], "\n")
}
