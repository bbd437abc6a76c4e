package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/cmd/fairlead/dev"
	"github.com/fairlead-io/fairlead/cmd/fairlead/manifest"
)

// files collects -f FILE flags.
type files []string

const filesUsage = "`FILE` with Topic manifests, as for Kubernetes; may be repeated"

func (f *files) String() string { return "" }

func (f *files) Set(name string) error {
	if name == "" {
		return errors.New("want a file")
	}
	*f = append(*f, name)
	return nil
}

// applyManifests is `fairlead dev apply`.
func applyManifests(ctx context.Context, args []string, out io.Writer) error {
	fl := flag.NewFlagSet("fairlead dev apply", flag.ContinueOnError)
	var manifests files
	fl.Var(&manifests, "f", filesUsage)
	d := fl.String("dir", defaultDir, "`DIR` of the cluster")
	rest, err := parseFlags(fl, args, out)
	if err != nil {
		return err
	}
	if err := noMore(rest); err != nil {
		return err
	}
	if len(manifests) == 0 {
		return usageError("dev apply: -f FILE is needed")
	}
	topics, err := readManifests(manifests, out)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(*d)
	if err != nil {
		return err
	}
	bootstrap, err := dev.Bootstrap(dir)
	if err != nil {
		return err
	}
	return applyTopics(ctx, bootstrap, topics, out)
}

// readManifests reads files and tells on out what in them nobody acts on.
func readManifests(names files, out io.Writer) ([]manifest.Topic, error) {
	topics, notes, err := manifest.Read(names)
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		fmt.Fprintln(out, n)
	}
	return topics, nil
}

// applyLimit bounds an application of manifests: a cluster that does not answer is told as an error.
const applyLimit = time.Minute

func applyTopics(ctx context.Context, bootstrap []string, topics []manifest.Topic, out io.Writer) error {
	if len(topics) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, applyLimit)
	defer cancel()
	return manifest.Apply(ctx, bootstrap, topics, out)
}

// lines are those of an error.
func lines(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}
