package server

import (
	"context"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/membership"
	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

const (
	// logEndsEvery is how often the ends of leaderless logs are reported again.
	logEndsEvery = 2 * time.Second
	// maxLogEnds bounds one report; what is beyond goes into more.
	maxLogEnds = 5000
)

// reportLogEnds tells the controller how far the logs go that are here and that nobody leads: when one loses its leader, when the
// controller has forgotten what it was told (it is another one, or this broker registered or was unfenced), and then again and
// again, so that an unclean election takes the most complete one. See metactl.LogEndsRequest.
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
		inReports(ends, func(report []metactl.LogEnd) error {
			limit, cancel := context.WithTimeout(ctx, membership.RequestTimeout)
			defer cancel()
			_, _, err := s.controller.once(limit, &metactl.LogEndsRequest{BrokerID: s.node, BrokerEpoch: epoch, Ends: report})
			return err
		})
	}
}

// inReports sends all ends, in as many reports as they need. After an error nobody decides now, and all of it comes again.
func inReports(ends []metactl.LogEnd, send func([]metactl.LogEnd) error) {
	for report := range slices.Chunk(ends, maxLogEnds) {
		if send(report) != nil {
			return
		}
	}
}

// wakeLogEnds has the report made now.
func (s *Server) wakeLogEnds() {
	select {
	case s.leaderless <- struct{}{}:
	default: // it is awake
	}
}

// leaderlessEnds are the ends of the logs here whose partitions have no leader.
func (s *Server) leaderlessEnds(image *metadata.Image) []metactl.LogEnd {
	var ends []metactl.LogEnd
	for t := range image.Topics() {
		for n, p := range t.Partitions() {
			if p.Leader != kafka.NoNode || !p.HasReplica(s.node) {
				continue
			}
			id := kafka.TopicIDPartition{TopicID: t.ID, Partition: n}
			replica, code := s.partitions.GetByID(id)
			if code != kafka.None {
				continue
			}
			d, ok := replica.LogEnd(metactl.MaxEndEpochs)
			if !ok {
				continue
			}
			ends = append(ends, metactl.LogEnd{TopicIDPartition: id, LeaderEpoch: p.LeaderEpoch, EndOffset: d.Offset, Epochs: d.Epochs})
		}
	}
	return ends
}

// noticeLeaderless wakes the report when a partition that is here lost its leader, or when this broker came into service.
func (s *Server) noticeLeaderless(delta *metadata.Delta) {
	for i := range delta.Brokers {
		if b := delta.Brokers[i].After; b != nil && b.ID == s.node {
			s.wakeLogEnds()
			return
		}
	}
	for i := range delta.Partitions {
		if p := delta.Partitions[i].After; p != nil && p.Leader == kafka.NoNode && p.HasReplica(s.node) {
			s.wakeLogEnds()
			return
		}
	}
}
