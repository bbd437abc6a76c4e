package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const containerdLimit = time.Minute // until containerd answers

// nodeInit is the first process of a node: it prepares the mounts, loads images, starts the daemons and then reaps, until a
// daemon ends. It returns an error only; with it the node ends.
func nodeInit(l layout, args []string) error {
	if len(args) != 1 || os.Getpid() != 1 {
		return fmt.Errorf("node-init: this is a node's first process, started by `kube up`")
	}
	n, err := nodeNamed(args[0])
	if err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(n.name())); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := nodeMounts(l, n); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	daemons := map[int]string{}
	start := func(name string, args ...string) error {
		pid, err := startInNode(l, name, args)
		daemons[pid] = name
		return err
	}
	if err := start("containerd", l.bin("containerd"), "--config", l.node(n, "containerd.toml")); err != nil {
		return err
	}
	if err := await(containerdLimit, func() error { return command(l.bin("ctr"), "--address", containerdSocket, "version") }); err != nil {
		return err
	}
	images, err := filepath.Glob(l.run("images", "*.tar"))
	if err != nil {
		return err
	}
	for _, tar := range images {
		if err := command(importing(l, tar)...); err != nil {
			return err
		}
	}
	if err := start("kube-proxy", l.bin("kube-proxy"), "--config", l.node(n, "proxy.yaml")); err != nil {
		return err
	}
	if err := start("kubelet", l.bin("kubelet"), "--config", l.node(n, "kubelet.yaml"), "--root-dir", l.node(n, "kubelet"),
		"--kubeconfig", l.pki(n.process()+".kubeconfig"), "--hostname-override", n.name(), "--node-ip", n.address(),
		"--node-labels", "topology.kubernetes.io/zone="+n.zone(), "--cert-dir", l.node(n, "kubelet-pki")); err != nil {
		return err
	}
	return reap(daemons)
}

// startInNode starts a daemon, its output in /var/log. Nobody but reap waits for it.
func startInNode(l layout, name string, args []string) (int, error) {
	output, err := os.OpenFile("/var/log/"+name+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, err
	}
	defer output.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.Env = append(os.Environ(), "PATH="+l.bin()+":"+os.Getenv("PATH")) // containerd looks for its shim there
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", name, err)
	}
	return cmd.Process.Pid, nil
}

// reap waits for every process whose parent is gone, as a first process must, until one of the daemons ends.
func reap(daemons map[int]string) error {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("wait for processes: %w", err)
		}
		if name, is := daemons[pid]; is {
			return fmt.Errorf("%s ended: exit status %d, signal %d; see log/%s.log of the node", name, status.ExitStatus(), status.Signal(), name)
		}
	}
}

// sysctls are the values that the kubelet insists on and would write. It is shown files that hold them already.
var sysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// nodeMounts gives the node its own view of the machine. All of it ends with the node.
func nodeMounts(l layout, n node) error {
	m := mounter{}
	m.do("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") // nothing that is mounted here is seen outside
	m.do("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")

	// The machine's settings stay as they are: below /proc/sys only those of the node's own network can be written.
	m.bind("/proc/sys", "/proc/sys")
	m.do("", "/proc/sys", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
	m.bind("/proc/sys/net", "/proc/sys/net")
	m.do("", "/proc/sys/net", "", unix.MS_REMOUNT|unix.MS_BIND, "")
	for name, value := range sysctls {
		file := l.node(n, "sysctl", name)
		m.write(file, value+"\n")
		m.bind(file, "/proc/sys/"+name)
	}

	// Where both versions of cgroups are mounted, crun refuses; it is not shown the second.
	if _, err := os.Stat("/sys/fs/cgroup/unified"); err == nil {
		m.do("tmpfs", "/sys/fs/cgroup/unified", "tmpfs", unix.MS_RDONLY, "size=4k")
	}

	// Folders with fixed names that kubelet, containerd and CNI plugins use.
	m.do("tmpfs", "/run", "tmpfs", 0, "mode=755")
	m.folder("/run/netns", "/run/lock")
	m.do("tmpfs", "/opt", "tmpfs", 0, "mode=755")
	m.folder(l.node(n, "kubelet"), l.node(n, "containerd"), l.node(n, "varlib"), l.node(n, "log"))
	m.bind(l.node(n, "varlib"), "/var/lib")
	m.bind(l.node(n, "log"), "/var/log")
	m.folder("/var/log/pods", "/var/log/containers")

	// Volumes are mounted here after containers have begun, and must reach them.
	m.bind(l.node(n, "kubelet"), l.node(n, "kubelet"))
	m.do("", l.node(n, "kubelet"), "", unix.MS_REC|unix.MS_SHARED, "")
	return m.err
}

// mounter does what it is asked until something fails.
type mounter struct{ err error }

func (m *mounter) do(source, target, kind string, flags uintptr, data string) {
	if m.err == nil {
		if err := unix.Mount(source, target, kind, flags, data); err != nil {
			m.err = fmt.Errorf("%s: %w", strings.TrimSpace(source+" on "+target), err)
		}
	}
}

func (m *mounter) bind(source, target string) { m.do(source, target, "", unix.MS_BIND, "") }

func (m *mounter) folder(dirs ...string) {
	for _, dir := range dirs {
		if m.err == nil {
			m.err = os.MkdirAll(dir, 0o755)
		}
	}
}

func (m *mounter) write(file, text string) {
	m.folder(filepath.Dir(file))
	if m.err == nil {
		m.err = os.WriteFile(file, []byte(text), 0o644)
	}
}
