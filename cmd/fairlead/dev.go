package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/cmd/fairlead/dev"
)

// defaultDir is where a development cluster keeps its files, below the working directory.
const defaultDir = ".fairlead"

// defaultBrokers is the size of a new cluster.
const defaultBrokers = 3

// clusterFlags reads the flags of the verbs that lay a directory out, and those that more adds.
func clusterFlags(name string, args []string, out io.Writer, more func(*flag.FlagSet)) (dev.Options, error) {
	fl := flag.NewFlagSet("fairlead "+name, flag.ContinueOnError)
	if more != nil {
		more(fl)
	}
	brokers := fl.Int("brokers", 0, fmt.Sprintf("number of brokers (default: as many as DIR has, %d when it is new)", defaultBrokers))
	dir := fl.String("dir", defaultDir, "`DIR` with the files of all brokers")
	port := fl.Int("port", 9092, "first of the ports for clients; brokers talk to each other 1000 ports higher")
	given := settings{}
	fl.Var(given, "o", "broker setting by Kafka's name, as `key=value`; may be repeated")
	rest, err := parseFlags(fl, args, out)
	if err != nil {
		return dev.Options{}, err
	}
	if err := noMore(rest); err != nil {
		return dev.Options{}, err
	}
	o := dev.Options{Brokers: *brokers, Port: *port, Settings: config.Values(given), Format: formatDirectory, NewID: newID}
	if o.Dir, err = filepath.Abs(*dir); err != nil {
		return o, err
	}
	if o.Brokers == 0 {
		n, err := dev.Brokers(o.Dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			n = defaultBrokers
		case err != nil:
			return o, err
		}
		o.Brokers = n
	}
	return o, nil
}

// newID makes a random identifier that is none of Kafka's reserved ones and that no tool takes for a flag.
func newID() kafka.UUID {
	for {
		var u kafka.UUID
		_, _ = rand.Read(u[:]) // never fails, see crypto/rand
		u[6] = u[6]&0x0f | 0x40
		u[8] = u[8]&0x3f | 0x80
		if u.String()[0] != '-' {
			return u
		}
	}
}

func runDev(ctx context.Context, args []string, out io.Writer) error {
	var manifests files
	o, err := clusterFlags("dev", args, out, func(fl *flag.FlagSet) { fl.Var(&manifests, "f", filesUsage) })
	if err != nil {
		return err
	}
	topics, err := readManifests(manifests, out)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	o.Ready = func(ctx context.Context, bootstrap []string) {
		for _, line := range lines(applyTopics(ctx, bootstrap, topics, out)) {
			fmt.Fprintln(out, line) // the cluster goes on: the file can be put right and applied again
		}
	}
	return dev.Run(ctx, exe, o, out)
}

func writeConfig(_ context.Context, args []string, out io.Writer) error {
	o, err := clusterFlags("dev write-config", args, out, nil)
	if err != nil {
		return err
	}
	return dev.Write(o)
}

func stopBroker(ctx context.Context, args []string, out io.Writer) error {
	dir, id, err := oneBroker("dev stop-broker", args, out)
	if err != nil {
		return err
	}
	return dev.Stop(ctx, dir, id)
}

func startBroker(ctx context.Context, args []string, out io.Writer) error {
	dir, id, err := oneBroker("dev start-broker", args, out)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return dev.Start(ctx, dir, id)
}

// oneBroker reads ID and --dir.
func oneBroker(name string, args []string, out io.Writer) (dir string, id int, err error) {
	fl := flag.NewFlagSet("fairlead "+name, flag.ContinueOnError)
	d := fl.String("dir", defaultDir, "`DIR` of the cluster")
	rest, err := parseFlags(fl, args, out)
	if err != nil {
		return "", 0, err
	}
	if len(rest) != 1 {
		return "", 0, usageError(name + ": want one broker ID")
	}
	if id, err = strconv.Atoi(rest[0]); err != nil {
		return "", 0, usageError(fmt.Sprintf("%s: %q is no broker ID", name, rest[0]))
	}
	dir, err = filepath.Abs(*d)
	return dir, id, err
}

func waitReady(ctx context.Context, args []string, out io.Writer) error {
	fl := flag.NewFlagSet("fairlead dev wait-ready", flag.ContinueOnError)
	d := fl.String("dir", defaultDir, "`DIR` of the cluster")
	timeout := fl.Duration("timeout", time.Minute, "how long to wait")
	rest, err := parseFlags(fl, args, out)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(*d)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	if len(rest) == 1 {
		id, err := strconv.Atoi(rest[0])
		if err != nil {
			return usageError(fmt.Sprintf("dev wait-ready: %q is no broker ID", rest[0]))
		}
		return dev.AwaitOne(ctx, dir, id)
	}
	if err := noMore(rest); err != nil {
		return err
	}
	line, err := dev.AwaitAll(ctx, dir)
	if err == nil {
		fmt.Fprintln(out, line)
	}
	return err
}
