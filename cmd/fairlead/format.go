package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/server"
	"github.com/fairlead-io/fairlead/broker/vfs"
	"github.com/fairlead-io/fairlead/cmd/fairlead/pod"
)

// format is `fairlead format`: the explicit act that gives a data directory its identity and, with voters, begins a cluster.
func format(_ context.Context, args []string, out io.Writer) error {
	fl := flag.NewFlagSet("fairlead format", flag.ContinueOnError)
	file := fl.String("config", "", "properties `FILE` with Kafka's setting names")
	cluster := fl.String("cluster-id", "", "`ID` of the cluster")
	directory := fl.String("directory-id", "", "`ID` of the directory (default: that of --initial-voters, or a new one)")
	voters := fl.String("initial-voters", "", "begin the cluster, with these `BROKER@DIRECTORY,...`, the same on each of them")
	standalone := fl.Bool("standalone", false, "begin the cluster, with this broker as the only voter")
	ignore := fl.Bool("ignore-formatted", false, "leave a directory that has an identity as it is, without an error")
	rest, err := parseFlags(fl, args, out)
	if err != nil {
		return err
	}
	switch {
	case len(rest) > 0:
		return noMore(rest)
	case *file == "":
		return usageError("format: --config FILE is needed")
	case *cluster == "":
		return usageError("format: --cluster-id ID is needed")
	case *standalone && *voters != "":
		return usageError("format: either --standalone or --initial-voters")
	}
	f, err := readSettings(*file)
	if err != nil {
		return err
	}
	b, o := f.Broker, server.FormatOptions{ClusterID: *cluster, Settings: f.Static}
	if o.Voters, err = pod.ParseVoters(*voters); err != nil {
		return usageError("format: --initial-voters: " + err.Error())
	}
	if o.Directory, err = directoryOf(*directory, b.NodeID, o.Voters); err != nil {
		return err
	}
	if *standalone {
		o.Voters = []quorum.Voter{{Node: b.NodeID, Directory: o.Directory}}
	}
	err = server.Format(vfs.OS(), b, o)
	if *ignore && errors.Is(err, server.ErrFormatted) {
		err = nil
	}
	return err
}

// directoryOf is the id given, else that of the voter that this broker is, else a new one.
func directoryOf(given string, node kafka.NodeID, voters []quorum.Voter) (kafka.DirectoryID, error) {
	if given != "" {
		u, err := kafka.ParseUUID(given)
		if err != nil {
			return kafka.DirectoryID{}, usageError(fmt.Sprintf("format: --directory-id: %v", err))
		}
		return kafka.DirectoryID(u), nil
	}
	for _, v := range voters {
		if v.Node == node {
			return v.Directory, nil
		}
	}
	return server.NewDirectoryID(), nil
}
