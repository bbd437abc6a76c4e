package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/cmd/fairlead/dev"
)

// runBroker is `fairlead broker`.
func runBroker(_ context.Context, args []string, out io.Writer) error {
	fl := flag.NewFlagSet("fairlead broker", flag.ContinueOnError)
	file := fl.String("config", "", "properties `FILE` with Kafka's setting names")
	rest, err := parseFlags(fl, args, out)
	if err != nil {
		return err
	}
	if err := noMore(rest); err != nil {
		return err
	}
	if *file == "" {
		return usageError("broker: --config FILE is needed")
	}
	text, err := os.ReadFile(*file)
	if err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	_, b, _, err := config.ParseFile(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", *file, err)
	}
	return fmt.Errorf("run broker %d: this build has no server", b.NodeID)
}

// formatDirectory begins a data directory.
func formatDirectory(d dev.Directory) error {
	return fmt.Errorf("begin %s: this build has no server", d.Path)
}
