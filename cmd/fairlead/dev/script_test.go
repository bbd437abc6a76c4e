package dev

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// hack/cluster keeps the contract of a control command: what each verb prints and when it returns.
func TestControlScript(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, port := t.TempDir(), freePort(t)
	control := func(args ...string) (string, error) {
		cmd := exec.Command("../../../hack/cluster", args...)
		cmd.Env = append(os.Environ(), "FAIRLEAD="+exe)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
		}
		return string(out), err
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := control(args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	defer must("down", "-d", dir)
	up := []string{"up", "-n", "2", "-p", fmt.Sprint(port), "-d", dir, "-o", "num.partitions=4"}
	want := fmt.Sprintf("ready: bootstrap=127.0.0.1:%d,127.0.0.1:%d\n", port, port+1)
	if got := must(up...); got != want {
		t.Errorf("up printed %q, want %q", got, want)
	}
	if !strings.Contains(read(t, ConfigFile(dir, 1)), "num.partitions=4\n") {
		t.Error("-o is not in the settings")
	}
	if got := must("dir", "1", "-d", dir); got != DataDir(dir, 1)+"\n" {
		t.Errorf("dir printed %q", got)
	}
	first := must("pid", "1", "-d", dir)
	if got := fmt.Sprintln(pidOf(t, dir, 1)); got != first {
		t.Errorf("pid printed %q, want %q", first, got)
	}
	if _, err := control(up...); err == nil || !strings.Contains(err.Error(), "broker 0 is already running in "+dir) {
		t.Errorf("a second up: %v", err)
	}
	for _, verb := range []string{"stop", "kill"} {
		must(verb, "1", "-d", dir)
		if pid, _ := runningPid(dir, 1); pid != 0 {
			t.Errorf("after %s broker 1 runs as process %d", verb, pid)
		}
		must(verb, "1", "-d", dir) // of a broker that does not run: nothing to do
		must("start", "1", "-d", dir)
		if again := must("pid", "1", "-d", dir); again == first {
			t.Errorf("after %s and start the process is still %s", verb, again)
		}
	}
	if _, err := control("stop", "7", "-d", dir); err == nil || !strings.Contains(err.Error(), "no broker 7 in "+dir) {
		t.Errorf("stop of a broker that is not: %v", err)
	}
	must("down", "-d", dir)
	for id := range 2 {
		if pid, _ := runningPid(dir, id); pid != 0 {
			t.Errorf("after down broker %d runs as process %d", id, pid)
		}
	}
	failing := append(append([]string{}, up...), "-o", "fake.fails=1")
	if _, err := control(failing...); err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "broker 1 exited") {
		t.Errorf("up with a broker that cannot start: %v", err)
	}
}
