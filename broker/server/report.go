package server

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/quorum"
)

// intervals of the loops, of which those that may be altered are asked for each time.
func (s *Server) intervals() partition.Intervals {
	l := s.settings.broker().Log
	return partition.Intervals{
		Watermarks: l.WatermarkCheckpointEvery, Recovery: l.RecoveryCheckpointEvery,
		Retention: l.RetentionCheckInterval, Compaction: func() time.Duration { return s.settings.broker().Log.CleanerBackoff },
	}
}

// reportLoop logs what the partitions' loops did, as far as a person may want to know why data is gone or what failed.
func (s *Server) reportLoop(r partition.Report) {
	if r.Err != nil {
		s.log.Error(r.Err, "storage loop", "doing", r.Doing)
	}
	for _, d := range r.Deleted {
		for _, segment := range d.Segments {
			s.log.Info("segment deleted", "partition", d.Partition.String(), "baseOffset", segment.Base, "bytes", segment.Size, "reason", segment.Reason)
		}
	}
}

// observeQuorum logs what happens in the quorum.
func (s *Server) observeQuorum(f quorum.Fact) {
	switch f := f.(type) {
	case quorum.LeaderFact:
		s.log.Info("quorum leader", "leader", f.Leader, "epoch", f.Epoch)
		s.wakeLogEnds()
		s.members.leaderChanged(f.Leader)
	case quorum.LeadingFact:
		s.log.Info("deciding for the cluster", "leading", f.Leading, "epoch", f.Epoch)
	case quorum.MembersFact:
		s.log.Info("quorum members", "voters", f.Voters, "learners", f.Learners)
	case quorum.SnapshotFact:
		s.log.V(1).Info("metadata snapshot", "index", f.Index, "bytes", f.Bytes, "received", f.Installed)
	case quorum.OfflineFact:
		s.log.Error(f.Err, "the quorum's disk failed")
	case quorum.StalledFact:
		if f.Err != nil {
			s.log.Error(f.Err, "the quorum's log takes nothing: the metadata of this broker stands still")
		} else {
			s.log.Info("the quorum's log goes on")
		}
	case quorum.RefusedFact:
		s.log.Info("quorum refuses", "from", f.From, "reason", f.Reason)
	}
}
