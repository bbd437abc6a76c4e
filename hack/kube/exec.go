package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// kubectl runs it with the administrator's rights and gives its standard output.
func kubectl(l layout, args ...string) (string, error) {
	words := within(fabric, append([]string{l.bin("kubectl")}, args...)...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = clusterEnvironment(l)
	var out, message bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &message
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(message.String()))
	}
	return out.String(), nil
}

// passthrough runs a command in the fabric, in a mount namespace of its own where /etc/resolv.conf names the cluster's
// DNS, so that any client finds brokers by the names that they advertise. It finds the way back to the namespaces of
// this process, which lives as long as the command, by hostVariable.
func passthrough(l layout, args []string) error {
	if len(args) == 0 {
		return errors.New("exec: name a command")
	}
	const bindNames = `mount --bind "$0" /etc/resolv.conf && exec "$@"`
	words := append(within(fabric, "unshare", "--mount", "--propagation", "private", "sh", "-c", bindNames, l.run("resolv.conf")), args...)
	return foreground(words, append(clusterEnvironment(l), hostVariable+"=/proc/"+strconv.Itoa(os.Getpid())+"/ns"))
}

// onHost runs this program again in the namespaces from which `kube exec` was called: daemons and namespaces that are made
// from within must outlive it.
func onHost(namespaces string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, hostVariable+"=") {
			env = append(env, v)
		}
	}
	words := append([]string{"nsenter", "--mount=" + namespaces + "/mnt", "--net=" + namespaces + "/net", "--wdns=.", "--", self}, os.Args[1:]...)
	return foreground(words, env)
}

// foreground runs a command with this process' terminal; signals go to it, and it does not outlive this process.
func foreground(words, env []string) error {
	runtime.LockOSThread() // the death that Pdeathsig means is that of the thread
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				_ = cmd.Process.Signal(s)
			case <-ended:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	if err != nil && cmd.ProcessState != nil && !cmd.ProcessState.Exited() {
		return fmt.Errorf("%s: %w", words[len(words)-1], err)
	}
	return err
}
