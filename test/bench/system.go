package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/test/control"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// system is one of the two that are compared.
type system struct{ name, command string }

// bench is a running cluster of one system.
type bench struct {
	system  system
	cluster *control.Cluster
	client  *kgo.Client
	adm     *kadm.Client
	report  *report
}

func startBench(s system, dir string, brokers int, r *report) (*bench, error) {
	fmt.Fprintf(os.Stderr, "bench: %s with brokers: %d\n", s.name, brokers)
	c, err := control.Up(s.command, dir, control.Options{Brokers: brokers})
	if err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap...))
	if err != nil {
		return nil, errors.Join(err, c.Down())
	}
	return &bench{system: s, cluster: c, client: cl, adm: kadm.NewClient(cl), report: r}, nil
}

func (b *bench) close() error {
	b.client.Close()
	return b.cluster.Down()
}

// note records a figure of the system.
func (b *bench) note(name string, m metric, value float64) {
	fmt.Fprintf(os.Stderr, "bench: %-9s %-55s %s %s\n", b.system.name, name, m.format(value), m.unit)
	b.report.add(b.system.name, name, m, value)
}

// topic creates a topic and returns its name; drop deletes it.
func (b *bench) topic(ctx context.Context, partitions int32, replicas int16) (name string, drop func(), err error) {
	name = "bench-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	settings := map[string]string{}
	if replicas > 1 {
		settings["min.insync.replicas"] = "2"
	}
	err = control.CreateTopic(ctx, b.adm, name, partitions, replicas, settings)
	return name, func() { _, _ = b.adm.DeleteTopics(context.WithoutCancel(ctx), name) }, err
}

// ticksPerSecond is the unit of /proc/PID/stat, 100 on every Linux.
const ticksPerSecond = 100

// cpu is the user and system time of all brokers so far, in seconds.
func (b *bench) cpu() (float64, error) {
	var ticks int64
	for id := range b.cluster.Bootstrap {
		pid, err := b.cluster.Pid(id)
		if err != nil {
			return 0, err
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0, err
		}
		// The name in parentheses may hold anything; fields are counted after it.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, f := range []string{fields[11], fields[12]} {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read /proc/%d/stat: %w", pid, err)
			}
			ticks += n
		}
	}
	return float64(ticks) / ticksPerSecond, nil
}

// rss is the resident memory of a broker, the mean of all, in megabytes.
func (b *bench) rss() (float64, error) {
	var kib int64
	for id := range b.cluster.Bootstrap {
		pid, err := b.cluster.Pid(id)
		if err != nil {
			return 0, err
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, err
		}
		var n int64
		_, rest, _ := strings.Cut(string(status), "VmRSS:") // a process that has ended has none
		if _, err := fmt.Sscan(rest, &n); err != nil {
			return 0, fmt.Errorf("read VmRSS in /proc/%d/status: %w", pid, err)
		}
		kib += n
	}
	return float64(kib) * 1024 / 1e6 / float64(len(b.cluster.Bootstrap)), nil
}

func (b *bench) noteRSS(name string) error {
	mb, err := b.rss()
	if err == nil {
		b.note(name, memory, mb)
	}
	return err
}

// costed runs f, which moves some bytes of values, and notes throughput and broker CPU.
func (b *bench) costed(name string, f func() (bytes int64, err error)) error {
	before, err := b.cpu()
	if err != nil {
		return err
	}
	begin := time.Now()
	bytes, err := f()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	took := time.Since(begin)
	after, err := b.cpu()
	if err != nil {
		return err
	}
	b.note(name+", throughput", throughput, float64(bytes)/1e6/took.Seconds())
	b.note(name+", broker CPU", cost, (after-before)/(float64(bytes)/1e9))
	return nil
}
