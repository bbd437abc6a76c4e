package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one that this program started: its id, and its start in the kernel's clock ticks, since an id alone may
// name another process by now.
type process struct {
	pid   int
	start string
}

// launch starts a daemon that outlives this program, its output in run/log/NAME.log, and records it in run/pid/NAME.
func launch(l layout, name string, attributes *syscall.SysProcAttr, args ...string) error {
	output, err := os.OpenFile(l.log(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer output.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = output, output, l.run()
	attributes.Setsid = true // a signal to this program's terminal or process group is none to the cluster
	cmd.SysProcAttr = attributes
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	start, err := startOf(cmd.Process.Pid)
	if err != nil {
		return fmt.Errorf("start %s: %w; see %s", name, err, l.log(name))
	}
	go func() { _ = cmd.Wait() }() // so that one that ended is seen as ended while this program runs
	return os.WriteFile(l.run("pid", name), fmt.Appendf(nil, "%d %s", cmd.Process.Pid, start), 0o644)
}

// launched is a recorded process that lives.
func launched(l layout, name string) (process, bool) {
	text, err := os.ReadFile(l.run("pid", name))
	if err != nil {
		return process{}, false
	}
	first, start, _ := strings.Cut(string(text), " ")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return process{}, false
	}
	p := process{pid, start}
	return p, p.alive()
}

// launchedNames are the names of all records, in no order that matters.
func launchedNames(l layout) []string {
	files, _ := filepath.Glob(l.run("pid", "*"))
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return files
}

func (p process) alive() bool {
	start, err := startOf(p.pid)
	return err == nil && start == p.start
}

var errEnded = errors.New("it has ended")

// startOf reads when a live process began. One that nobody has waited for yet counts as ended.
func startOf(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", errEnded
	}
	s, err := parseStat(text)
	if err == nil && (s.state == 'Z' || s.state == 'X') {
		err = errEnded
	}
	return s.start, err
}

// stat is what is read of /proc/PID/stat.
type stat struct {
	state  byte
	parent int
	start  string // in the kernel's clock ticks
}

// parseStat finds its fields behind the name, which is in parentheses and may hold anything.
func parseStat(text []byte) (stat, error) {
	const state, parent, start = 0, 1, 19 // numbered from the first field after the name
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= start {
		return stat{}, fmt.Errorf("read a process's state: %q", text)
	}
	pid, err := strconv.Atoi(string(fields[parent]))
	if err != nil {
		return stat{}, fmt.Errorf("read a process's parent: %w", err)
	}
	return stat{fields[state][0], pid, string(fields[start])}, nil
}

// end kills a recorded process and waits until it is gone. The processes of a run keep nothing that outlives it, so none
// is asked first.
func end(l layout, name string) error {
	if p, alive := launched(l, name); alive {
		if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill %s: %w", name, err)
		}
		if err := await(goneLimit, func() error {
			if p.alive() {
				return fmt.Errorf("%s, process %d, is still there", name, p.pid)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return os.Remove(l.run("pid", name))
}

const (
	goneLimit  = 30 * time.Second // of a killed process; a node's first process waits for all the others
	awaitEvery = 50 * time.Millisecond
)

// await calls f until it is nil, for at most limit, and gives its last error.
func await(limit time.Duration, f func() error) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(awaitEvery) {
		err := f()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v: %w", limit, err)
		}
	}
}
