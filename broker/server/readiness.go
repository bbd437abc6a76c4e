package server

import (
	"sync/atomic"

	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// starting is the readiness while the data directory is opened.
func (s *Server) starting() adminapi.Readiness {
	return Starting(s.node, s.version, "opening the data directory")
}

// Starting is the readiness of a broker that is not there yet.
func Starting(node kafka.NodeID, version, reason string) adminapi.Readiness {
	return adminapi.Readiness{
		NodeID: int32(node), Phase: adminapi.Starting, Reason: reason, Version: version,
		BrokerEpoch: int64(kafka.NoBrokerEpoch), QuorumLeaderID: int32(kafka.NoNode), DiskBytes: -1, FreeBytes: -1,
	}
}

// readiness says how far the broker is. Since is when the process saw the phase begin; a phase that nobody asked about has no time.
func (s *Server) readiness() adminapi.Readiness {
	p, q, image := s.partitions.Progress(), s.quorum.Status(), s.images.Current()
	counts := s.replicaCounts.of(image, s.node)
	r := adminapi.Readiness{
		NodeID: int32(s.node), ClusterID: s.meta.ClusterID, Version: s.version, DirectoryID: s.meta.DirectoryID.String(),
		Recovery:    adminapi.Progress{Done: int64(p.Opened), Total: int64(p.Total), Bytes: p.ReadBytes},
		BrokerEpoch: int64(s.members.state.brokerEpoch()), IsQuorumLeader: q.Leading, IsQuorumVoter: s.quorum.HasVote(s.node), QuorumLeaderID: int32(q.Leader),
		Replicas: counts.all, LedPartitions: counts.led, OutOfSync: counts.outOfSync, DiskFull: s.partitions.Full(),
	}
	r.DiskBytes, r.FreeBytes = s.volume()
	b := image.Broker(s.node)
	switch {
	case s.running.Err() != nil || b != nil && b.Incarnation == s.incarnation && b.ControlledShutdown:
		r.Phase = adminapi.Stopping
	case !s.opened.Load():
		r.Phase, r.Reason = adminapi.Recovering, "opening logs"
	case b == nil || b.Incarnation != s.incarnation:
		r.Phase, r.Reason = adminapi.Joining, "not registered yet"
	case b.Fenced:
		r.Phase, r.Reason = adminapi.CatchingUp, "fenced until its metadata is current"
	case !s.members.state.serves.Load():
		r.Phase, r.Reason = adminapi.OutOfQuorum, "the metadata quorum cannot be reached"
	default:
		r.Phase, r.Ready = adminapi.Serving, true
	}
	r.CaughtUp = r.Ready && counts.outOfSync == 0
	now := s.clock.Wall()
	r.Since = s.phases.since(r.Phase, now)
	r.Recovery.MovedAt = int64(now) - s.recoveryPace.still(p, s.clock.Elapsed()).Milliseconds()
	return r
}

// replicaCounts counts this broker's replicas in an image, once for each image.
type replicaCounts struct{ last atomic.Pointer[countedImage] }

type countedImage struct {
	image               *metadata.Image
	all, led, outOfSync int
}

func (k *replicaCounts) of(image *metadata.Image, self kafka.NodeID) *countedImage {
	if c := k.last.Load(); c != nil && c.image == image {
		return c
	}
	c := &countedImage{image: image}
	for t := range image.Topics() {
		for _, p := range t.Partitions() {
			if !p.HasReplica(self) {
				continue
			}
			c.all++
			if p.Leader == self {
				c.led++
			}
			if !p.InISR(self) {
				c.outOfSync++
			}
		}
	}
	k.last.Store(c)
	return c
}
