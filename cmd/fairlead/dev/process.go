package dev

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one start of a broker.
type process struct {
	id      int
	cmd     *exec.Cmd
	started time.Time
	exited  chan struct{} // closed when the process is gone
	state   *os.ProcessState
}

// start runs `EXE broker --config FILE` with its output in the log file. It must be called from the thread that lives
// as long as this process: the kernel ends the child when the thread that started it ends.
func start(exe, dir string, id int) (*process, error) {
	log, err := os.OpenFile(logFile(dir, id), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(exe, "broker", "--config", ConfigFile(dir, id))
	cmd.Stdout, cmd.Stderr = log, log
	// A group of its own: an interrupt from the terminal reaches us alone, and we stop the brokers.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start broker %d: %w", id, err)
	}
	p := &process{id: id, cmd: cmd, started: time.Now(), exited: make(chan struct{})}
	if err := os.WriteFile(pidFile(dir, id), []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o644); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		p.state = cmd.ProcessState
		close(p.exited)
	}()
	return p, nil
}

// how describes the end of the process.
func (p *process) how(dir string) string {
	s := p.state.String()
	if last := lastLine(logFile(dir, p.id)); last != "" && p.state.Exited() && !p.state.Success() {
		s += ": " + last
	}
	return s
}

// lastLine is the last line of a file that is not empty, cut to a readable length.
func lastLine(name string) string {
	const tail, width = 4096, 300
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > tail {
		_, _ = f.Seek(-tail, 2)
	}
	var b bytes.Buffer
	_, _ = b.ReadFrom(f)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	last := lines[len(lines)-1]
	return last[:min(len(last), width)]
}

// runningPid is the process that the pid file names, or 0 when there is none.
func runningPid(dir string, id int) (int, error) {
	data, err := os.ReadFile(pidFile(dir, id))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid < 1 {
		return 0, fmt.Errorf("read %s: %q is no process id", pidFile(dir, id), data)
	}
	// The id may have gone to another process since: a broker's command line names its settings file.
	cmdline, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline") // not there: no such process
	if !bytes.Contains(cmdline, []byte(ConfigFile(dir, id))) {
		return 0, nil
	}
	return pid, nil
}
