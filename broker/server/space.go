package server

import (
	"context"
	"time"

	"github.com/fairlead-io/fairlead/broker/membership"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/quorum"
)

// tellSpace tells the membership whether there is space to append, and so the controller with the next heartbeat. It is told
// before the broker first asks to be unfenced, so that it does not come into service with leaderships that it cannot serve.
func (s *Server) tellSpace() bool {
	full := s.partitions.Full()
	s.members.tell(s.running, membership.DiskFull{Full: full})
	if full {
		total, free := s.volume()
		s.log.Info("disk full: writes are refused, and led by others where others are in sync", "directory", s.meta.DirectoryID.String(), "totalBytes", total, "freeBytes", free)
	}
	return full
}

// quorumSlow is how long the quorum's loop may be busy with one round, a write to the disk above all, before the image counts as
// standing still.
const quorumSlow = time.Second

// quorumStalled tells whether this broker's image stands still, by what the quorum says of itself and when its loop last came round.
func quorumStalled(s quorum.Status, still time.Duration) bool {
	return s.Stalled || still >= quorumSlow
}

// watchSpace tells it whenever it is not what was told last, and likewise whether the quorum's log takes anything.
func (s *Server) watchSpace(ctx context.Context, told bool) {
	t := time.NewTicker(partition.TickEvery)
	defer t.Stop()
	stalled := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if now := quorumStalled(s.quorum.Status(), s.clock.Elapsed().Sub(s.quorum.MovedAt())); now != stalled {
			stalled = now
			s.members.tell(ctx, membership.QuorumStalled{Stalled: stalled})
		}
		if full := s.partitions.Full(); full != told {
			told = s.tellSpace()
			if !told {
				s.log.Info("the disk has space again: writes are taken", "directory", s.meta.DirectoryID.String())
			}
		}
	}
}
