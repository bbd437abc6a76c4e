package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// endStrays kills what runs in the cluster's namespaces and is one of the cluster's programs without a record, as when
// `up` was killed between a start and its record. Commands of `kube exec` are other programs and are left alone, and so are
// this process' ancestors: `down` may be called from a test in the fabric.
func endStrays(l layout) error {
	names, err := filepath.Glob(namespacePath(fabric + "*"))
	if err != nil {
		return err
	}
	spared := ancestors(os.Getpid())
	for _, name := range names {
		out, err := exec.Command("ip", "netns", "pids", filepath.Base(name)).Output()
		if err != nil {
			return fmt.Errorf("list the processes in %s: %w", name, err)
		}
		for _, word := range strings.Fields(string(out)) {
			pid, err := strconv.Atoi(word)
			if err != nil || spared[pid] {
				continue
			}
			program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			if err != nil || !strings.HasPrefix(program, l.bin()+"/") {
				continue // ended meanwhile, or not ours
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("kill %s, process %d: %w", program, pid, err)
			}
			say("ended %s, process %d, which was not recorded", filepath.Base(program), pid)
		}
	}
	return nil
}

// ancestors are a process, its parent, and so on.
func ancestors(pid int) map[int]bool {
	all := map[int]bool{}
	for pid > 1 && !all[pid] {
		all[pid] = true
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			break
		}
		s, err := parseStat(stat)
		if err != nil {
			break
		}
		pid = s.parent
	}
	return all
}
