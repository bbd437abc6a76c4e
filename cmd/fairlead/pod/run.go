package pod

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/server"
	"github.com/fairlead-io/fairlead/broker/vfs"
	"github.com/fairlead-io/fairlead/cmd/fairlead/brokerfile"
)

// Options are what the container gets.
type Options struct {
	Dir string // of the mounted files
	// TerminationLog is the file that the kubelet shows as the reason of the container's end. It is written if it is there.
	TerminationLog string
	Env            func(name string) (value string, set bool)
	Version        string
	Log            logr.Logger
	// Watch, if it is there, is given the running broker's Hurry, and its result is called when the broker has ended.
	Watch func(hurry func()) (end func())
	Pause time.Duration // between two looks at files that are yet to be filled; 0: DefaultPause
}

// DefaultPause is of [Options.Pause]. The kubelet itself brings a changed annotation into the file with its next sync, up to a minute later.
const DefaultPause = 500 * time.Millisecond

// waitLogEvery is how often the log says what is waited for.
const waitLogEvery = time.Minute

// Run runs the pod's broker until the context ends, which is no error, or until it cannot go on.
func Run(ctx context.Context, o Options) error {
	if o.Pause == 0 {
		o.Pause = DefaultPause
	}
	p := &pod{Options: o}
	err := p.run(ctx)
	if err != nil {
		p.leaveWord(err)
	}
	return err
}

// pod is one run of the container.
type pod struct {
	Options
	reason atomic.Pointer[string] // why there is no broker yet
}

func (p *pod) run(ctx context.Context) error {
	f, err := p.readSettings()
	if err != nil {
		return err
	}
	if _, err := readCluster(p.clusterFile()); err != nil {
		return err
	}
	for _, n := range f.Notices {
		p.Log.Info("setting", "name", n.Name, "notice", n.Message)
	}
	endpoint, err := p.openEndpoint(f.Broker)
	if err != nil {
		return err
	}
	defer endpoint.Close()
	if f, err = p.await(ctx, f); err != nil || ctx.Err() != nil {
		return err
	}
	c, err := readCluster(p.clusterFile()) // again: the quorum may have been founded during the wait
	if err != nil {
		return err
	}
	if err := p.format(f, c); err != nil {
		return err
	}
	s, err := server.New(server.Options{Static: f.Static, Broker: f.Broker, Log: p.Log, ClusterID: c.id, Version: p.Version, Endpoint: endpoint})
	if err != nil {
		return err
	}
	if p.Watch != nil {
		defer p.Watch(s.Hurry)()
	}
	return s.Run(ctx)
}

func (p *pod) clusterFile() string { return filepath.Join(p.Dir, "cluster.properties") }

func (p *pod) readSettings() (brokerfile.File, error) {
	return brokerfile.Read(filepath.Join(p.Dir, "broker.properties"), p.Env, config.Values{"node.id": "${env:NODE_ID}"})
}

func (p *pod) openEndpoint(b config.Broker) (*server.Endpoint, error) {
	p.waitFor("opening the data directory")
	if b.Network.AdminAddr == "" {
		return nil, nil
	}
	return server.OpenEndpoint(b.Network.AdminAddr, func() adminapi.Readiness {
		return server.Starting(b.NodeID, p.Version, *p.reason.Load())
	}, p.Log)
}

func (p *pod) waitFor(what string) { p.reason.Store(&what) }

// await waits until no file that the settings refer to is empty, and gives the settings as they are then.
func (p *pod) await(ctx context.Context, f brokerfile.File) (brokerfile.File, error) {
	tick := time.NewTicker(p.Pause)
	defer tick.Stop()
	var told time.Time
	for len(f.Pending) > 0 {
		reason := "waiting for " + strings.Join(f.Pending, ", ") + " to be filled"
		p.waitFor(reason)
		if now := time.Now(); now.Sub(told) >= waitLogEvery {
			told = now
			p.Log.Info(reason)
		}
		select {
		case <-ctx.Done():
			p.Log.Info("told to stop while " + reason)
			return f, nil
		case <-tick.C:
		}
		var err error
		if f, err = p.readSettings(); err != nil {
			return f, err
		}
	}
	p.waitFor("opening the data directory")
	return f, nil
}

// format gives the data directory an identity unless it has one.
func (p *pod) format(f brokerfile.File, c cluster) error {
	o := c.formatOf(f.Broker, f.Static)
	err := server.Format(vfs.OS(), f.Broker, o)
	switch {
	case errors.Is(err, server.ErrFormatted):
		return nil
	case err == nil:
		p.Log.Info("data directory formatted", "cluster", c.id, "node", f.Broker.NodeID, "founding", len(o.Voters) > 0)
	}
	return err
}
