// Package control drives a cluster through a control command, so that the same test or measurement runs against
// Fairlead (hack/cluster) and against Apache Kafka. The command's contract:
//
//	CMD up -n BROKERS -p PORT -d DIR [-o key=value]...   start; broker i listens on 127.0.0.1:PORT+i; returns when all serve
//	CMD stop|kill|start ID -d DIR                        SIGTERM and wait; SIGKILL and wait; start on the same data
//	CMD pid|dir ID -d DIR                                process id; folder that holds topic-partition folders
//	CMD down -d DIR                                      stop all
package control

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Limits of the command's verbs.
const (
	upLimit   = 5 * time.Minute
	verbLimit = 2 * time.Minute
)

// Options describe a cluster.
type Options struct {
	Brokers  int
	Settings map[string]string // by Kafka's names
}

// Cluster is a running cluster. Its methods may be called from several goroutines, for different brokers.
type Cluster struct {
	Bootstrap []string // HOST:PORT of broker 0, 1, ..
	Dir       string
	Command   string
	UpTook    time.Duration
}

// Up starts a cluster in a new folder below parent ("" is the system's).
func Up(command, parent string, o Options) (*Cluster, error) {
	port, err := freePorts(o.Brokers)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(parent, "cluster-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, Command: command}
	args := []string{"up", "-n", strconv.Itoa(o.Brokers), "-p", strconv.Itoa(port), "-d", dir}
	names := make([]string, 0, len(o.Settings))
	for name := range o.Settings {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		args = append(args, "-o", name+"="+o.Settings[name])
	}
	begin := time.Now()
	if _, err := c.run(upLimit, args...); err != nil {
		return nil, errors.Join(err, c.Down())
	}
	c.UpTook = time.Since(begin)
	for id := range o.Brokers {
		c.Bootstrap = append(c.Bootstrap, fmt.Sprintf("127.0.0.1:%d", port+id))
	}
	if err := c.awaitRegistered(); err != nil {
		return nil, errors.Join(err, c.Down())
	}
	return c, nil
}

// Down stops the cluster and removes its files.
func (c *Cluster) Down() error {
	_, err := c.run(verbLimit, "down", "-d", c.Dir)
	return errors.Join(err, os.RemoveAll(c.Dir))
}

// Stop ends a broker by SIGTERM and waits for it.
func (c *Cluster) Stop(id int) error { return c.verb("stop", id) }

// Kill ends a broker by SIGKILL and waits for it.
func (c *Cluster) Kill(id int) error { return c.verb("kill", id) }

// Start starts a broker again.
func (c *Cluster) Start(id int) error { return c.verb("start", id) }

// Pid is a broker's process.
func (c *Cluster) Pid(id int) (int, error) {
	out, err := c.run(verbLimit, "pid", strconv.Itoa(id), "-d", c.Dir)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(out))
}

// DataDir holds a broker's topic-partition folders.
func (c *Cluster) DataDir(id int) (string, error) {
	out, err := c.run(verbLimit, "dir", strconv.Itoa(id), "-d", c.Dir)
	return strings.TrimSpace(out), err
}

func (c *Cluster) verb(verb string, id int) error {
	_, err := c.run(verbLimit, verb, strconv.Itoa(id), "-d", c.Dir)
	return err
}

// run gives standard output; standard error is in the error. Both go through files: a broker that inherits them
// would hold a pipe open.
func (c *Cluster) run(limit time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var files [2]*os.File
	for i := range files {
		f, err := os.CreateTemp("", "control-")
		if err != nil {
			return "", err
		}
		defer os.Remove(f.Name())
		defer f.Close()
		files[i] = f
	}
	cmd := exec.CommandContext(ctx, c.Command, args...)
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	runErr := cmd.Run()
	out, err := os.ReadFile(files[0].Name())
	if err != nil {
		return "", err
	}
	if runErr != nil {
		message, _ := os.ReadFile(files[1].Name())
		return string(out), fmt.Errorf("%s %s: %w: %s", c.Command, strings.Join(args, " "), runErr, message)
	}
	return string(out), nil
}

// LogTails are the last lines of every broker's log.
func (c *Cluster) LogTails(lines int) string {
	names, _ := filepath.Glob(filepath.Join(c.Dir, "*", "log"))
	var b strings.Builder
	for _, name := range names {
		text, _ := os.ReadFile(name)
		all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
		fmt.Fprintf(&b, "%s:\n%s\n", filepath.Base(filepath.Dir(name)), strings.Join(all[max(0, len(all)-lines):], "\n"))
	}
	return b.String()
}

func (c *Cluster) awaitRegistered() error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap...))
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), upLimit)
	defer cancel()
	adm := kadm.NewClient(cl)
	return Await(ctx, func(ctx context.Context) error {
		known, err := adm.ListBrokers(ctx)
		if err == nil && len(known) != len(c.Bootstrap) {
			err = fmt.Errorf("%d of %d brokers are registered", len(known), len(c.Bootstrap))
		}
		return err
	})
}

// Await calls f until it returns nil or ctx ends, then gives its last error.
func Await(ctx context.Context, f func(context.Context) error) error {
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// CreateTopic creates a topic and waits until every partition's leader serves it.
func CreateTopic(ctx context.Context, adm *kadm.Client, topic string, partitions int32, replicas int16, settings map[string]string) error {
	values := map[string]*string{}
	for name, value := range settings {
		values[name] = &value
	}
	if _, err := adm.CreateTopic(ctx, partitions, replicas, values, topic); err != nil {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	return Await(ctx, func(ctx context.Context) error {
		ends, err := adm.ListEndOffsets(ctx, topic)
		if err != nil {
			return err
		}
		if n := len(ends[topic]); n != int(partitions) {
			return fmt.Errorf("%d of %d partitions of %s are listed", n, partitions, topic)
		}
		return ends.Error()
	})
}

// freePorts gives p such that p..p+n-1 and p+1000..p+1000+n-1 were free a moment ago, below the ephemeral range.
func freePorts(n int) (int, error) {
	for range 200 {
		var b [2]byte
		_, _ = rand.Read(b[:]) // never fails, see crypto/rand
		p := 10000 + int(binary.BigEndian.Uint16(b[:]))%20000
		if portsFree(p, n) && portsFree(p+1000, n) {
			return p, nil
		}
	}
	return 0, fmt.Errorf("no %d free ports in a row found", n)
}

func portsFree(p, n int) bool {
	for i := range n {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p+i))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}
