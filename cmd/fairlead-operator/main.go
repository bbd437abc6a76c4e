// Command fairlead-operator looks after the Clusters and Topics of a Kubernetes cluster, or of one namespace of it.
//
// It reads its credentials as kubectl does, or from its pod. Exit codes: 0 told to stop, 1 an error (a lost leadership is one, so that a new
// process begins without anything in mind), 2 wrong use.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	kubeconfig "sigs.k8s.io/controller-runtime/pkg/client/config"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/controllers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout); {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(usageError)):
		fmt.Fprintln(os.Stderr, "fairlead-operator:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "fairlead-operator:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	f, err := parse(args, out)
	if err != nil {
		return err
	}
	if f.version {
		fmt.Fprintf(out, "fairlead-operator %s %s/%s %s\n", buildVersion(), runtime.GOOS, runtime.GOARCH, runtime.Version())
		return nil
	}
	log := logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: f.logLevel}))
	ctrllog.SetLogger(log)
	klog.SetLogger(log)

	cfg, err := kubeconfig.GetConfig()
	if err != nil {
		return fmt.Errorf("find the Kubernetes cluster: %w", err)
	}
	cfg.UserAgent = "fairlead-operator/" + buildVersion()
	f.options.Log = log
	if f.options.OwnNamespace, err = ownNamespace(); err != nil {
		return err
	}
	m, err := controllers.NewManager(cfg, f.options)
	if err != nil {
		return err
	}
	log.Info("starting", "version", buildVersion(), "namespace", f.options.Namespace, "image", f.options.Image)
	return m.Start(ctx)
}

// namespaceFile is where Kubernetes tells a pod its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace is that of the pod, empty outside of one.
func ownNamespace() (string, error) {
	text, err := os.ReadFile(namespaceFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("find the operator's namespace: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// usageError is an error of the command line, with exit code 2.
type usageError string

func (e usageError) Error() string { return string(e) }

// version is set by the build.
var version = ""

func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		return info.Main.Version
	}
	return version
}
