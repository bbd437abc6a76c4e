package main

import (
	"context"
	"flag"
	"io"
	"os"

	"github.com/fairlead-io/fairlead/cmd/fairlead/pod"
)

// runPod is `fairlead pod`.
func runPod(ctx context.Context, args []string, out io.Writer) error {
	fl := flag.NewFlagSet("fairlead pod", flag.ContinueOnError)
	dir := fl.String("dir", "/etc/fairlead", "`DIR` of the mounted files")
	last := fl.String("termination-log", "/dev/termination-log", "`FILE` for the reason of a fatal error, in one line")
	verbose := fl.Bool("v", false, "log more")
	rest, err := parseFlags(fl, args, out)
	if err != nil {
		return err
	}
	if err := noMore(rest); err != nil {
		return err
	}
	return pod.Run(ctx, pod.Options{
		Dir: *dir, TerminationLog: *last, Env: os.LookupEnv, Version: versionText(), Log: newLog(*verbose),
		Watch: func(hurry func()) func() { return onSecondSignal(ctx, hurry) },
	})
}
