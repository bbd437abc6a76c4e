package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/coordinator"
	"github.com/fairlead-io/fairlead/broker/handler"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/membership"
	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/peer"
	"github.com/fairlead-io/fairlead/broker/quorum"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/seglog"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// wire makes every part and connects them, from the quorum up. Nothing runs yet.
func (s *Server) wire() error {
	b := s.settings.broker()
	s.peers = &peers{
		self: s.node, internal: b.Network.Internal, static: map[kafka.NodeID]string{}, images: s.images,
		control: map[kafka.NodeID]*peer.Client{}, gone: map[kafka.NodeID]bool{}, joining: map[kafka.NodeID]string{}, seen: map[kafka.NodeID]string{},
		hello: s.hello,
		down:  func(n kafka.NodeID, e kafka.BrokerEpoch) { s.quorum.PeerDown(n, e) },
	}
	for _, v := range b.Quorum.Voters {
		s.peers.static[v.ID] = hostPort(v.Host, v.Port)
	}
	if err := s.wireQuorum(b); err != nil {
		return err
	}
	endpoints := advertised(b.Network, s.listeners)
	for _, e := range endpoints {
		if e.Listener == b.Network.Internal {
			s.internalAddress = hostPort(e.Host, e.Port)
		}
	}
	s.members = newMembers(s, membership.Options{
		Node: s.node, ClusterID: s.meta.ClusterID, Directory: s.meta.DirectoryID, Incarnation: s.incarnation, Rack: b.Rack,
		Endpoints: endpoints, HeartbeatInterval: b.Quorum.HeartbeatInterval, SessionTimeout: b.Quorum.SessionTimeout, RegistrationLimit: b.Quorum.RegistrationLimit,
	})
	s.fetchers = newFetchers(s)
	s.files = seglog.NewFilePool(logFiles(openFileLimit()))
	s.partitions = partition.New(s.partitionOptions(b))
	s.groups = coordinator.NewGroups(coordinator.Options{
		Clock: s.clock, Topics: topics{s.images}, NewID: NewUUID, Log: s.log.WithName("groups"), Config: groupConfig(b.Group),
	})
	return s.wireNetwork(b)
}

// previousEpoch is the registration after which the directory was stopped cleanly.
func (s *Server) previousEpoch() kafka.BrokerEpoch {
	if e, ok := s.directory.CleanShutdown(); ok {
		return e
	}
	return kafka.NoBrokerEpoch
}

func (s *Server) wireQuorum(b *config.Broker) error {
	controller := metactl.New(metactl.Options{
		Static: s.settings.static, SessionTimeout: b.Quorum.SessionTimeout,
		DefaultPartitions: b.Create.Partitions, DefaultReplicas: b.Create.ReplicationFactor, DeletionDisabled: !b.Create.DeleteAllowed,
		RebalanceDisabled: !b.Quorum.LeaderBalance, RebalanceInterval: rebalanceInterval(s.settings.static, b),
		HasVote: func(n kafka.NodeID) bool { return s.quorum.HasVote(n) },
	}, nil)
	machine := quorum.NewMetadataMachine(quorum.MetadataOptions{
		Controller: controller, Wall: s.clock.Wall, Rand: rand.NewPCG(rand.Uint64(), rand.Uint64()),
		OnImage: func(image *metadata.Image, delta metadata.Delta) {
			s.images.publish(image)
			s.queue.put(imageUpdate{image, delta})
		},
	})
	var seeds []kafka.NodeID
	for _, v := range b.Quorum.Voters {
		seeds = append(seeds, v.ID)
	}
	var err error
	s.quorum, err = quorum.OpenRunner(quorum.Options{
		FS: s.fs, Dir: filepath.Join(b.LogDir, quorumDir), Self: quorum.Voter{Node: s.node, Directory: s.meta.DirectoryID},
		ClusterID: s.meta.ClusterID, Peers: seeds, Machine: machine, Send: s.sendQuorum, Jitter: rand.Int64N, Observe: s.observeQuorum,
	}, s.clock.Elapsed)
	if err != nil {
		return fmt.Errorf("start broker %d: %w", s.node, err)
	}
	s.controller = &controllerClient{self: s.node, quorum: s.quorum, peers: s.peers, images: s.images, followed: s.followed, clock: s.clock}
	return nil
}

// rebalanceInterval is that of leadership hand-backs, when the user set it; zero lets the controller hand back as soon as it can.
func rebalanceInterval(static config.Values, b *config.Broker) time.Duration {
	if _, set := static["leader.imbalance.check.interval.seconds"]; set {
		return b.Quorum.LeaderBalanceInterval
	}
	return 0
}

// sendQuorum is the quorum's transport: one-way messages over the control connections.
func (s *Server) sendQuorum(to kafka.NodeID, m quorum.Message) {
	c := s.peers.client(to)
	if c == nil {
		return
	}
	if m.Join != nil && m.Join.Member.Node == s.node {
		m.Join.Address = s.internalAddress
	}
	data, err := m.AppendTo(nil)
	if err != nil {
		s.log.Error(err, "quorum message could not be encoded")
		return
	}
	_ = c.Send(wire.NewPrivateRequest(wire.KeyRaft, data)) // what cannot be sent is lost, and repeated by the quorum
}

// hello is a quorum message that says nothing but from whom to whom it goes.
func (s *Server) hello(to kafka.NodeID) kmsg.Request {
	m := quorum.Message{From: s.node, To: to, FromDirectory: s.meta.DirectoryID, Cluster: s.meta.ClusterID, Raft: &raftpb.Message{}}
	data, err := m.AppendTo(nil)
	if err != nil {
		s.log.Error(err, "hello could not be encoded")
	}
	return wire.NewPrivateRequest(wire.KeyRaft, data)
}

// syncsAtOnce is how many logs are flushed or closed at once: they wait for the disk, which makes many syncs one commit.
const syncsAtOnce = 32

func (s *Server) partitionOptions(b *config.Broker) partition.Options {
	return partition.Options{
		FS: s.fs, Directory: s.directory, Files: s.files, Self: s.node, Rules: replica.AllRules(),
		LagMax: b.Replica.LagTimeMax, ReserveBytes: b.Log.ReserveBytes,
		ProducerExpiry: func() time.Duration { return s.settings.broker().ProducerIDExpiration },
		Damaged:        s.damage.report, Failed: s.logFailed,
		Settings: s.settings.topic, Alter: s.alter, OnChange: s.rolesChanged, Each: concurrently(int(b.Log.RecoveryThreads)),
		EachSync: concurrently(syncsAtOnce),
	}
}

// logFailed says that one log is out of service while the others work. A partition's lock may be held.
func (s *Server) logFailed(f *partition.Failure) {
	s.log.Error(f.Err, "log failed: this replica serves nothing until its folder is right or removed, and the broker was started again",
		"doing", f.Doing, "partition", f.Partition.String())
}

// alter carries an ISR change to the controller.
func (s *Server) alter(req *kmsg.AlterPartitionRequest, done func(*kmsg.AlterPartitionResponse, error)) {
	s.background.Go(func() {
		ctx, cancel := context.WithTimeout(s.running, membership.RequestTimeout)
		defer cancel()
		resp, _, err := s.controller.persist(ctx, req)
		altered, ok := resp.(*kmsg.AlterPartitionResponse)
		if err == nil && !ok {
			err = errors.New("alter partition: the controller gave another kind of response")
		}
		done(altered, err)
	})
}

// concurrently calls do(0) to do(n-1) on as many goroutines as threads says.
func concurrently(threads int) func(n int, do func(int)) {
	return func(n int, do func(int)) {
		next := make(chan int)
		var workers sync.WaitGroup
		for range max(1, min(threads, n)) {
			workers.Go(func() {
				for i := range next {
					do(i)
				}
			})
		}
		for i := range n {
			next <- i
		}
		close(next)
		workers.Wait()
	}
}

func groupConfig(g config.Group) coordinator.Config {
	c := coordinator.DefaultConfig()
	c.Group.MinSessionTimeout, c.Group.MaxSessionTimeout = g.MinSessionTimeout, g.MaxSessionTimeout
	c.Group.InitialRebalanceDelay, c.Group.MaxSize = g.InitialRebalanceDelay, int(g.MaxSize)
	c.Group.MaxMetadataBytes, c.Group.Retention = int(g.MaxMetadataBytes), g.Retention
	c.CommitTimeout, c.RetentionCheckInterval, c.LoadBufferBytes = g.CommitTimeout, g.RetentionCheck, int(g.LoadBufferBytes)
	c.Codec = record.Codec(g.TopicCompression)
	return c
}

func (s *Server) wireNetwork(b *config.Broker) error {
	var err error
	s.clients, err = handler.New(handler.Options{
		Node: s.node, ClusterID: func() string { return s.images.Current().ClusterID() }, Images: s.followed, Newest: s.images.Current,
		Settings: s.settings.broker, Layers: s.settings.layers, Partitions: s.partitions, Volume: s.volume,
		Throttle: s.throttles.leader, Groups: s.groups, Controller: s.controller, Clock: s.clock, Log: s.log.WithName("handler"),
	})
	if err != nil {
		return err
	}
	internal, err := newInternalHandler(s.controller, s.clients, s.clock)
	if err != nil {
		return err
	}
	c := connConfig(b.Network)
	s.clientServer = conn.NewServer(c, s.clients.APIs(), counted{s.clients, &s.requests})
	s.internalServer = conn.NewServer(c, internal.apis, counted{internal, &s.requests})
	s.admin = s.adminHandler()
	if s.endpoint != nil {
		s.endpoint.answer(s.admin)
	}
	return nil
}

func connConfig(n config.Network) conn.Config {
	c := conn.Config{
		MaxFrameBytes: int(n.MaxRequestBytes), MaxConnections: int(n.MaxConnections), MaxConnectionsPerIP: int(n.MaxConnectionsByIP),
		MaxIdle: n.IdleTimeout,
	}
	if n.MaxInflightBytes > 0 {
		c.MaxInflightBytes = n.MaxInflightBytes
	}
	return c
}

// volume is the size of the file system of the data directory and what is free of it.
func (s *Server) volume() (total, free int64) {
	space, err := s.fs.Space(s.settings.broker().LogDir)
	if err != nil {
		return -1, -1
	}
	return space.Total, space.Free
}
