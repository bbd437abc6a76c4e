package dev

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/broker/config"
)

const testLimit = 20 * time.Second

// await polls until f is nil.
func awaitNil(t *testing.T, f func() error) {
	t.Helper()
	deadline := time.Now().Add(testLimit)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// freePort gives a first port whose neighbours and internal ports were free a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	for p := 12000 + os.Getpid()%5000; p < 30000; p += 7 {
		if portsFree(Options{Brokers: 3, Port: p}) == nil {
			return p
		}
	}
	t.Fatal("no free ports")
	return 0
}

// output is a writer that another goroutine reads.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) has(s string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !strings.Contains(o.b.String(), s) {
		return fmt.Errorf("output lacks %q:\n%s", s, o.b.String())
	}
	return nil
}

// running starts Run and stops it at the end of the test, when all brokers must be gone.
func running(t *testing.T, o Options) *output {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	out, done := &output{}, make(chan error, 1)
	go func() { done <- Run(ctx, exe, o, out) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for id := range o.Brokers {
			if pid, err := runningPid(o.Dir, id); pid != 0 || err != nil {
				t.Errorf("broker %d is still there: process %d, %v", id, pid, err)
			}
		}
	})
	awaitNil(t, func() error { return out.has("ready: bootstrap=") })
	return out
}

func pidOf(t *testing.T, dir string, id int) int {
	t.Helper()
	pid, err := runningPid(dir, id)
	if err != nil || pid == 0 {
		t.Fatalf("broker %d: process %d, %v", id, pid, err)
	}
	return pid
}

func TestRunPrintsTheReadyLine(t *testing.T) {
	o := options(t.TempDir(), 3, freePort(t))
	ready := make(chan []string, 1)
	o.Ready = func(_ context.Context, bootstrap []string) { ready <- bootstrap }
	out := running(t, o)
	if got, err := Bootstrap(o.Dir); err != nil || len(got) != 3 || !slices.Equal(<-ready, got) {
		t.Errorf("%v, %v", got, err)
	}
	want := fmt.Sprintf("ready: bootstrap=127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d\n", o.Port, o.Port+1, o.Port+2)
	if err := out.has(want); err != nil {
		t.Error(err)
	}
}

func TestADeadBrokerIsReportedAndStartedAgain(t *testing.T) {
	o := options(t.TempDir(), 2, freePort(t))
	out := running(t, o)
	pid := pidOf(t, o.Dir, 1)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitNil(t, func() error {
		return out.has("broker 1: signal: killed; starting it again (log: " + logFile(o.Dir, 1) + ")")
	})
	awaitNil(t, func() error {
		if now, err := runningPid(o.Dir, 1); err != nil || now == 0 || now == pid {
			return fmt.Errorf("broker 1 is process %d, was %d: %v", now, pid, err)
		}
		return nil
	})
}

func TestABrokerStoppedByHandStaysStopped(t *testing.T) {
	o := options(t.TempDir(), 2, freePort(t))
	out := running(t, o)
	ctx := context.Background()
	if err := Stop(ctx, o.Dir, 0); err != nil {
		t.Fatal(err)
	}
	awaitNil(t, func() error { return out.has("broker 0: stopped by hand (exit status 0)") })
	if pid, _ := runningPid(o.Dir, 0); pid != 0 {
		t.Errorf("broker 0 runs as process %d", pid)
	}
	if err := Stop(ctx, o.Dir, 0); err != nil {
		t.Errorf("stopping a stopped broker: %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, testLimit)
	defer cancel()
	if err := Start(ctx, o.Dir, 0); err != nil {
		t.Fatal(err)
	}
	if err := out.has("broker 0: started by hand"); err != nil {
		t.Error(err)
	}
	if err := Stop(ctx, o.Dir, 7); err == nil || err.Error() != "no broker 7: the cluster has brokers 0 to 1" {
		t.Errorf("stopping a broker that is not: %v", err)
	}
}

// A broker that cannot start is told in one line with its own last words, and the rest does not stay behind.
func TestABrokerThatCannotStart(t *testing.T) {
	o := options(t.TempDir(), 2, freePort(t))
	o.Settings = config.Values{"fake.fails": "1"}
	exe, _ := os.Executable()
	err := Run(context.Background(), exe, o, &output{})
	want := fmt.Sprintf("broker 1: exit status 1: open %s: no space left (log: %s)", DataDir(o.Dir, 1), logFile(o.Dir, 1))
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if pid, _ := runningPid(o.Dir, 0); pid != 0 {
		t.Errorf("broker 0 stayed behind as process %d", pid)
	}
}

func TestRunRefuses(t *testing.T) {
	exe, _ := os.Executable()
	port := freePort(t)
	run := func(o Options) error { return Run(context.Background(), exe, o, &output{}) }
	refused := func(what string, err error, want string) {
		t.Helper()
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+1001))
	if err != nil {
		t.Fatal(err)
	}
	refused("a port in use", run(options(t.TempDir(), 2, port)), fmt.Sprintf("port %d of broker 1: address already in use", port+1001))
	l.Close()

	dir := t.TempDir()
	o := options(dir, 2, port)
	o.Settings = config.Values{"num.partitions": "none"}
	refused("a bad setting", run(o), "Invalid value none for configuration num.partitions: Not a number of type INT")
	refused("no brokers", run(options(dir, 0, port)), "0 brokers: want 1 to 100")
	refused("a port too high", run(options(dir, 1, 65000)), "port 65000: want 1 to 64535, for internal listeners use the ports from 66000")

	held, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	refused("a directory in use", run(options(dir, 2, port)), dir+" is in use by another `fairlead dev`")
	held.Close()
}

// When `fairlead dev` is killed its brokers stop.
func TestBrokersEndWithTheirParent(t *testing.T) {
	dir, port := t.TempDir(), freePort(t)
	exe, _ := os.Executable()
	parent := exec.Command(exe, "run-dev", dir, fmt.Sprint(port))
	out := &output{}
	parent.Stdout, parent.Stderr = out, out
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = parent.Wait() }()
	defer parent.Process.Kill()
	awaitNil(t, func() error { return out.has("ready:") })
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for id := range 2 {
		awaitNil(t, func() error {
			if pid, _ := runningPid(dir, id); pid != 0 {
				return fmt.Errorf("broker %d lives on as process %d", id, pid)
			}
			return nil
		})
	}
}
