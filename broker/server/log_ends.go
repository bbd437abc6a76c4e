package server

import (
	"context"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/membership"
	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

const (
	// logEndsEvery is how often the ends of leaderless logs are reported again.
	logEndsEvery = 2 * time.Second
	// maxLogEnds bounds one report; the rest comes with the next.
	maxLogEnds = 5000
)

// reportLogEnds tells the controller how far the logs go that are here and that nobody leads, when one loses its leader and then
// again and again, so that an unclean election, where the user allows it, takes the most complete one. See metactl.LogEndsRequest.
func (s *Server) reportLogEnds(ctx context.Context) {
	t := time.NewTicker(logEndsEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-s.leaderless:
		}
		ends := s.leaderlessEnds(s.images.Current())
		epoch := s.members.state.brokerEpoch()
		if len(ends) == 0 || epoch == kafka.NoBrokerEpoch {
			continue
		}
		limit, cancel := context.WithTimeout(ctx, membership.RequestTimeout)
		// Lost reports come again: the answer does not matter.
		_, _ = s.controller.once(limit, &metactl.LogEndsRequest{BrokerID: s.node, BrokerEpoch: epoch, Ends: ends})
		cancel()
	}
}

// leaderlessEnds are the ends of the logs here whose partitions have no leader.
func (s *Server) leaderlessEnds(image *metadata.Image) []metactl.LogEnd {
	var ends []metactl.LogEnd
	for t := range image.Topics() {
		for n, p := range t.Partitions() {
			if p.Leader != kafka.NoNode || !p.HasReplica(s.node) || len(ends) == maxLogEnds {
				continue
			}
			id := kafka.TopicIDPartition{TopicID: t.ID, Partition: n}
			replica, code := s.partitions.GetByID(id)
			if code != kafka.None {
				continue
			}
			d := replica.Describe()
			ends = append(ends, metactl.LogEnd{TopicIDPartition: id, LeaderEpoch: p.LeaderEpoch, LastEpoch: d.LastEpoch, EndOffset: d.LogEnd})
		}
	}
	return ends
}

// noticeLeaderless wakes the report when a partition that is here lost its leader.
func (s *Server) noticeLeaderless(delta *metadata.Delta) {
	for i := range delta.Partitions {
		if p := delta.Partitions[i].After; p != nil && p.Leader == kafka.NoNode && p.HasReplica(s.node) {
			select {
			case s.leaderless <- struct{}{}:
			default: // it is awake
			}
			return
		}
	}
}
