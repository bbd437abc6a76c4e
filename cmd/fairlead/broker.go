package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/go-logr/logr"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/server"
	"github.com/fairlead-io/fairlead/broker/vfs"
	"github.com/fairlead-io/fairlead/cmd/fairlead/brokerfile"
	"github.com/fairlead-io/fairlead/cmd/fairlead/dev"
)

// runBroker is `fairlead broker`.
func runBroker(ctx context.Context, args []string, out io.Writer) error {
	fl := flag.NewFlagSet("fairlead broker", flag.ContinueOnError)
	file := fl.String("config", "", "properties `FILE` with Kafka's setting names")
	verbose := fl.Bool("v", false, "log more")
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
	f, err := readSettings(*file)
	if err != nil {
		return err
	}
	log := newLog(*verbose)
	for _, n := range f.Notices {
		log.Info("setting", "name", n.Name, "notice", n.Message)
	}
	s, err := server.New(server.Options{Static: f.Static, Broker: f.Broker, Log: log, Version: versionText()})
	if err != nil {
		return err
	}
	defer onSecondSignal(ctx, s.Hurry)()
	return s.Run(ctx)
}

// readSettings reads a broker's file. Nobody is there to fill a file that it refers to.
func readSettings(path string) (brokerfile.File, error) {
	f, err := brokerfile.Read(path, os.LookupEnv, nil)
	if err == nil && len(f.Pending) > 0 {
		err = fmt.Errorf("%s: refers to %s, which is empty", path, f.Pending[0])
	}
	return f, err
}

// newLog writes to standard error, one line an event.
func newLog(verbose bool) logr.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// formatDirectory begins a data directory.
func formatDirectory(d dev.Directory) error {
	o := server.FormatOptions{ClusterID: d.ClusterID, Directory: d.DirectoryID, Settings: d.Settings}
	for _, v := range d.Voters {
		o.Voters = append(o.Voters, quorum.Voter{Node: v.NodeID, Directory: v.DirectoryID})
	}
	return server.Format(vfs.OS(), config.Broker{NodeID: d.NodeID, LogDir: d.Path}, o)
}
