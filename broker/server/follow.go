package server

import (
	"context"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/broker/coordinator"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/partition"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// retryMissingEvery is how often replicas that could not be created (no space, no handles) are tried again.
const retryMissingEvery = 5 * time.Second

// imageUpdate is one step of the cluster's image.
type imageUpdate struct {
	image *metadata.Image
	delta metadata.Delta
}

// imageQueue carries images from the quorum's goroutine to the one that follows them. It has no bound: the quorum must
// not wait for a slow disk, and the images share almost everything.
type imageQueue struct {
	mu      sync.Mutex
	updates []imageUpdate // guarded by mu
	wake    chan struct{} // has room for one
}

func newImageQueue() *imageQueue { return &imageQueue{wake: make(chan struct{}, 1)} }

func (q *imageQueue) put(u imageUpdate) {
	q.mu.Lock()
	q.updates = append(q.updates, u)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *imageQueue) take() []imageUpdate {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.updates
	q.updates = nil
	return u
}

// follow brings each image, in order, to the parts of the broker. The partitions start with the first image that knows this
// process's registration: an older one may lack topics whose logs are here.
func (s *Server) follow(ctx context.Context) {
	started := false
	retry := time.NewTicker(retryMissingEvery)
	defer retry.Stop()
	for {
		s.followPulse.beat(s.clock.Elapsed())
		select {
		case <-ctx.Done():
			return
		case <-retry.C:
			if started {
				s.partitions.RetryMissing(s.clock.Elapsed(), s.clock.Wall())
			}
			continue
		case <-s.queue.wake:
		}
		for _, u := range s.queue.take() {
			s.followPulse.beat(s.clock.Elapsed())
			if len(u.delta.Configs) > 0 || !started {
				s.followSettings(u.image)
			}
			switch {
			case started:
				s.partitions.Apply(u.image, &u.delta, s.clock.Elapsed(), s.clock.Wall())
			case s.registeredIn(u.image):
				s.partitions.Start(u.image, s.clock.Elapsed(), s.clock.Wall())
				started = true
				close(s.placed)
				if file, cluster, ignored := s.settings.ignoredMinISR(u.image); ignored {
					s.log.Info("min.insync.replicas of the file has no effect, the cluster's counts: alter it for all brokers or for topics",
						"file", file, "cluster", cluster)
				}
			}
			s.partitionCounts.follow(&u.delta, s.node)
			s.followGroups(&u.delta)
			s.noticeLeaderless(&u.delta)
			s.followed.publish(u.image)
			s.members.imageApplied(u.image)
		}
	}
}

// registeredIn tells whether the image holds the registration of this very process.
func (s *Server) registeredIn(image *metadata.Image) bool {
	b := image.Broker(s.node)
	return b != nil && b.Incarnation == s.incarnation
}

func (s *Server) followSettings(image *metadata.Image) {
	if err := s.settings.follow(image); err != nil {
		s.log.Error(err, "altered settings do not fit this broker's file; they are not applied")
	}
	b := s.settings.broker()
	s.throttles.set(b.Replica, s.clock.Elapsed())
	s.clientServer.Limit(int(b.Network.MaxConnections), int(b.Network.MaxConnectionsByIP))
}

// followGroups tells the group coordinators about topics that are gone: their offsets go too.
func (s *Server) followGroups(delta *metadata.Delta) {
	for _, t := range delta.Topics {
		if t.After == nil {
			s.groups.TopicsChanged()
			return
		}
	}
}

// rolesChanged brings new roles of partitions to the fetchers and to the coordinators. The partitions call it in order.
func (s *Server) rolesChanged(changes []partition.Change) {
	s.fetchers.follow(changes)
	for _, c := range changes {
		tp := c.Partition.TopicPartition()
		if tp.Topic != coordinator.OffsetsTopic {
			continue
		}
		if c.Role == replica.Leader && !c.Gone {
			s.groups.Elected(tp.Partition, c.Leader.Epoch, groupLog{c.Partition, s.clock})
		} else {
			s.groups.Resigned(tp.Partition, resignedAt(c))
		}
	}
}

// resignedAt is the epoch up to which this broker leads no more.
func resignedAt(c partition.Change) kafka.LeaderEpoch {
	if c.Gone {
		return kafka.LeaderEpoch(1<<31 - 1)
	}
	return c.Leader.Epoch
}
