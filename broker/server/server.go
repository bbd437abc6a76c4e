package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/coordinator"
	"github.com/fairlead-io/fairlead/broker/handler"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/seglog"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Options are what a broker is made of.
type Options struct {
	Static config.Values // the broker's file
	Broker config.Broker // the same, resolved
	Log    logr.Logger
	FS     vfs.FS // nil: the system's
	// ClusterID is the cluster that the data directory must be of; "" leaves it to cluster.id of the file, if it has that.
	ClusterID string
	// Version is of the program, for readiness.
	Version string
	// Endpoint is taken over when it is there, and closed when the broker has stopped; else the broker opens its own where the settings say.
	Endpoint *Endpoint
}

// Server is one broker.
type Server struct {
	node        kafka.NodeID
	incarnation kafka.UUID // of this process
	version     string     // of the program
	clock       clock
	log         logr.Logger
	fs          vfs.FS
	settings    *settings
	meta        seglog.MetaProperties
	directory   *seglog.Directory
	files       *seglog.FilePool

	// internalAddress is where other brokers find this one.
	internalAddress string

	images     *images // as the quorum has them
	followed   *images // those that this broker's partitions have followed: what clients are told
	queue      *imageQueue
	peers      *peers
	quorum     *quorum.Runner
	controller *controllerClient
	members    *members
	partitions *partition.Manager
	throttles  throttles
	fetchers   *fetchers
	groups     *coordinator.Groups

	clients        *handler.Handler
	clientServer   *conn.Server
	internalServer *conn.Server
	listeners      []conn.Listener // bound, in the order of the settings
	admin          http.Handler
	endpoint       *Endpoint // where admin answers; nil: nowhere
	requests       requestCounts
	damage         damageReports
	phases         phases
	opened         atomic.Bool // the logs are
	recoveryPace   pace
	replicaCounts  replicaCounts
	followPulse    pulse
	// partitionCounts are the loop's of follow, for metrics.
	partitionCounts partitionCounts
	loads           loads

	hurried    context.Context // ends when a stop is to wait for nobody: see Hurry
	hurry      context.CancelFunc
	running    context.Context // ends when the broker stops for good
	cancel     context.CancelFunc
	background sync.WaitGroup // every goroutine of this package
	// leaveQuorum ends the quorum's node, which hands over first; quorumLeft is closed when it has ended.
	leaveQuorum context.CancelFunc
	quorumLeft  chan struct{}
	placed      chan struct{} // closed when the partitions have their roles
	leaderless  chan struct{} // has room for one: a partition that is here lost its leader
	fatal       chan error    // has room for one: why the broker cannot go on
}

// New opens the data directory and binds the sockets, so that what is wrong with them shows at once. Nothing runs yet.
// Without an error, Run must be called.
func New(o Options) (*Server, error) {
	s := &Server{
		node: o.Broker.NodeID, incarnation: NewUUID(), version: o.Version, clock: newClock(), log: o.Log, fs: o.FS, endpoint: o.Endpoint,
		settings: newSettings(o.Static, o.Broker), images: newImages(), followed: newImages(), queue: newImageQueue(), throttles: newThrottles(),
		placed: make(chan struct{}), leaderless: make(chan struct{}, 1), fatal: make(chan error, 1),
	}
	if s.fs == nil {
		s.fs = vfs.OS()
	}
	s.damage.log, s.damage.clock = o.Log, s.clock
	s.running, s.cancel = context.WithCancel(context.Background())
	s.hurried, s.hurry = context.WithCancel(s.running)
	if err := s.openEndpoint(); err != nil {
		return nil, err
	}
	if err := s.openDirectory(cmp.Or(o.ClusterID, s.settings.static["cluster.id"])); err != nil {
		s.endpoint.Close()
		return nil, err
	}
	err := s.bind()
	if err == nil {
		err = s.wire()
	}
	if err != nil {
		s.endpoint.Close()
		s.closeListeners()
		_ = s.directory.Close()
		return nil, err
	}
	return s, nil
}

// openEndpoint has the admin endpoint answer before anything that may take its time.
func (s *Server) openEndpoint() (err error) {
	if address := s.settings.broker().Network.AdminAddr; s.endpoint == nil && address != "" {
		if s.endpoint, err = OpenEndpoint(address, s.starting, s.log); err != nil {
			return fmt.Errorf("start broker %d: %w", s.node, err)
		}
	}
	return nil
}

// openDirectory locks the data directory and checks that it is this broker's, of the cluster with this id unless that is "".
func (s *Server) openDirectory(cluster string) error {
	b := s.settings.broker()
	var dir *seglog.Directory
	err := retryWhile(vfs.ErrLocked, func() (err error) {
		dir, err = seglog.OpenDirectory(s.fs, b.LogDir)
		return err
	})
	if err != nil {
		return fmt.Errorf("start broker %d: %w", s.node, err)
	}
	meta, ok := dir.Meta()
	switch {
	case !ok:
		err = fmt.Errorf("start broker %d: data directory %s is not formatted: run fairlead format first", s.node, b.LogDir)
	case meta.NodeID != s.node:
		err = fmt.Errorf("start broker %d: data directory %s belongs to broker %d", s.node, b.LogDir, meta.NodeID)
	case cluster != "" && meta.ClusterID != "" && cluster != meta.ClusterID:
		err = fmt.Errorf("start broker %d: %w", s.node, &ForeignDirectoryError{Directory: b.LogDir, Cluster: meta.ClusterID, Wanted: cluster})
	}
	if err != nil {
		_ = dir.Close()
		return err
	}
	s.directory, s.meta = dir, meta
	return nil
}

// ForeignDirectoryError means that a data directory holds a broker of another cluster.
type ForeignDirectoryError struct {
	Directory       string
	Cluster, Wanted string // ids of the directory's cluster, and of the one that it should be of
}

func (e *ForeignDirectoryError) Error() string {
	return fmt.Sprintf("data directory %s belongs to cluster %s, not to %s", e.Directory, e.Cluster, e.Wanted)
}

// bind opens every socket.
func (s *Server) bind() error {
	n := s.settings.broker().Network
	for _, l := range n.Listeners {
		if l.Protocol != "PLAINTEXT" {
			return fmt.Errorf("start broker %d: listener %s: %s is not served, only PLAINTEXT", s.node, l.Name, l.Protocol)
		}
		nl, err := listen(hostPort(l.Host, l.Port))
		if err != nil {
			return fmt.Errorf("start broker %d: listener %s: %w", s.node, l.Name, err)
		}
		s.listeners = append(s.listeners, conn.Listener{Listener: nl, Name: l.Name, Internal: l.Name == n.Internal && len(n.Listeners) > 1})
	}
	return nil
}

func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		_ = l.Close()
	}
}

// fail ends the broker: it cannot go on.
func (s *Server) fail(err error) {
	select {
	case s.fatal <- err:
	default: // the first reason counts
	}
}
