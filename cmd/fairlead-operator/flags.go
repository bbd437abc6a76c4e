package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"

	kubeconfig "sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/fairlead-io/fairlead/controllers"
)

// flags are what the command line says.
type flags struct {
	options  controllers.Options
	logLevel slog.Level
	version  bool
}

func parse(args []string, out io.Writer) (flags, error) {
	var f flags
	fs := flag.NewFlagSet("fairlead-operator", flag.ContinueOnError)
	fs.SetOutput(out)
	kubeconfig.RegisterFlags(fs)
	fs.StringVar(&f.options.Namespace, "namespace", "", "look after this `namespace` only; empty: all namespaces. With it a Role there is enough")
	fs.StringVar(&f.options.Image, "image", defaultImage(version), "`image` of brokers whose Cluster names none")
	readAll := fs.Bool("read-nodes-and-storage", true, "read nodes and storage classes, which belong to no namespace: for racks, and to know which volumes can grow")
	fs.BoolVar(&f.options.LeaderElect, "leader-elect", false, "work only while holding the Lease "+controllers.LeaseName+", so that several operators may run")
	fs.StringVar(&f.options.LeaderElectionNamespace, "leader-election-namespace", "", "`namespace` of the Lease; empty: the operator's own")
	fs.StringVar(&f.options.MetricsAddress, "metrics-bind-address", ":8080", "serve /metrics at this `address`; 0: not at all")
	fs.StringVar(&f.options.ProbeAddress, "health-probe-bind-address", ":8081", "serve /healthz and /readyz at this `address`; 0: not at all")
	fs.TextVar(&f.logLevel, "log-level", slog.LevelInfo, "`level`: error, warn, info, debug")
	fs.BoolVar(&f.version, "version", false, "print the version and end")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return f, err
		}
		return f, usageError(err.Error())
	}
	f.options.NoNodesAndStorage = !*readAll
	if fs.NArg() > 0 {
		return f, usageError(fmt.Sprintf("unexpected argument %q", fs.Arg(0)))
	}
	return f, nil
}

// defaultImage is of the operator's own release; that of a program which is none is what `make image` makes.
func defaultImage(version string) string {
	if version == "" {
		version = "dev"
	}
	return "fairlead:" + version
}
