package server

import (
	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replication"
)

// throttles bound the copying of throttled replicas, by the settings that Kafka's reassignment tool sets.
type throttles struct{ leader, follower *replication.Throttle }

func newThrottles() throttles {
	return throttles{replication.NewThrottle(), replication.NewThrottle()}
}

func (t throttles) set(r config.Replica, now kafka.Elapsed) {
	t.leader.Set(r.LeaderThrottle, now)
	t.follower.Set(r.FollowerThrottle, now)
}
