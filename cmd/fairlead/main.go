// Command fairlead runs brokers: one of a cluster (`fairlead broker`), or a whole cluster on this machine (`fairlead dev`).
//
// Exit codes: 0 done, 1 an error, told in one line on standard error, 2 wrong use.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
)

// The main goroutine keeps the main thread: children of `fairlead dev` end when the thread that started them ends.
func init() { runtime.LockOSThread() }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout); {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(usageError)):
		fmt.Fprintln(os.Stderr, "fairlead:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "fairlead:", oneLine(err.Error()))
		os.Exit(1)
	}
}

// verb is one thing that the command does.
type verb struct {
	name, args, what string
	run              func(ctx context.Context, args []string, out io.Writer) error
}

func verbs() []verb {
	return []verb{
		{"broker", "--config FILE", "run one broker until it is told to stop", runBroker},
		{"pod", "[--dir DIR] [--termination-log FILE]", "run the broker of a Kubernetes pod, from files that the operator mounts", runPod},
		{"format", "--config FILE --cluster-id ID [--standalone | --initial-voters BROKER@DIRECTORY,...]", "begin a data directory, and with voters a cluster", format},
		{"dev", "[--brokers N] [--dir DIR] [--port PORT] [-o key=value]... [-f FILE]...", "run a cluster on this machine until interrupted, with the topics of Topic manifests", runDev},
		{"dev apply", "-f FILE... [--dir DIR]", "bring the topics of a running cluster to what Topic manifests say", applyManifests},
		{"dev stop-broker", "ID [--dir DIR]", "stop one broker of a running cluster", stopBroker},
		{"dev start-broker", "ID [--dir DIR]", "start it again", startBroker},
		{"dev write-config", "[--brokers N] [--dir DIR] [--port PORT] [-o key=value]...", "lay the directory out without running anything", writeConfig},
		{"dev wait-ready", "[ID] [--dir DIR] [--timeout DURATION]", "wait until all brokers, or one, answer", waitReady},
		{"config", "[topic|broker]", "list the settings with defaults, ranges and what they do", listSettings},
		{"version", "", "print the version", printVersion},
	}
}

// run finds the verb, the one with the longest name first.
func run(ctx context.Context, args []string, out io.Writer) error {
	line := strings.Join(args, " ") + " "
	var found *verb
	for _, v := range verbs() {
		if strings.HasPrefix(line, v.name+" ") && (found == nil || len(v.name) > len(found.name)) {
			found = &v
		}
	}
	if found == nil {
		help(out)
		if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
			return nil
		}
		return usageError(fmt.Sprintf("no verb %q", args[0]))
	}
	return found.run(ctx, args[len(strings.Fields(found.name)):], out)
}

func help(out io.Writer) {
	fmt.Fprintln(out, "Fairlead, a Kafka-compatible event-streaming system.")
	for _, v := range verbs() {
		fmt.Fprintf(out, "\n  fairlead %s\n      %s\n", strings.TrimSpace(v.name+" "+v.args), v.what)
	}
}

// usageError is an error of the command line, with exit code 2.
type usageError string

func (e usageError) Error() string { return string(e) }

// oneLine keeps errors to one line, whatever is wrapped in them.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\n", "; ")), " ")
}

// version is set by the build.
var version = ""

func printVersion(_ context.Context, _ []string, out io.Writer) error {
	fmt.Fprintf(out, "fairlead %s %s/%s %s\n", versionText(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	return nil
}

// versionText is the version that the build set, else that of the module.
func versionText() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		return info.Main.Version
	}
	return version
}
