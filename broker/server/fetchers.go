package server

import (
	"sync"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/peer"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/replication"
)

// fetchers follow the leaders of this broker's replicas, over one connection to each leader broker.
type fetchers struct {
	runner *replication.Runner
	peers  *peers

	mu      sync.Mutex
	clients []*peer.Client // guarded by mu
}

func newFetchers(s *Server) *fetchers {
	f := &fetchers{peers: s.peers}
	now := func() (kafka.Elapsed, kafka.Timestamp) { return s.clock.Elapsed(), s.clock.Wall() }
	epoch := func() kafka.BrokerEpoch { return s.members.state.brokerEpoch() }
	f.runner = replication.NewRunner(fetchOptions(s.node, s.settings.broker().Replica, s.throttles.follower), f.connect, now, epoch)
	return f
}

func fetchOptions(self kafka.NodeID, r config.Replica, t *replication.Throttle) replication.Options {
	return replication.Options{
		Self: self, MaxWait: r.FetchWaitMax, MinBytes: r.FetchMinBytes, MaxBytes: r.FetchResponseMaxBytes,
		PartitionMaxBytes: r.FetchMaxBytes, MaxBackoff: r.FetchBackoff, Throttle: t,
	}
}

func (f *fetchers) connect(leader kafka.NodeID) replication.Client {
	c := peer.New(f.peers.options(leader))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clients = append(f.clients, c)
	return c
}

// follow has each replica fetch from its leader, or from nobody.
func (f *fetchers) follow(changes []partition.Change) {
	for _, c := range changes {
		leader := kafka.NoNode
		if c.Role == replica.Follower && !c.Gone {
			leader = c.Leader.ID
		}
		f.runner.Set.Follow(c.Partition, leader)
	}
}

func (f *fetchers) stop() {
	f.runner.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.clients {
		c.Close()
	}
}
