package config

import (
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

func TestReplicaList(t *testing.T) {
	f := func(value string, partition int32, broker kafka.NodeID, want bool) {
		t.Helper()
		topic := ResolveTopic(Layers{Topic: Values{"leader.replication.throttled.replicas": value}})
		if got := topic.LeaderThrottled.Has(partition, broker); got != want {
			t.Errorf("%q has %d:%d: %v, want %v", value, partition, broker, got, want)
		}
	}
	f("", 0, 0, false)
	f("*", 7, 2, true)
	f("0:1", 0, 1, true)
	f("0:1", 1, 0, false)
	f("0:1, 0:2,13:101", 13, 101, true)
	f("0:1,0:2,13:101", 3, 101, false)
	f("0:1,0:2,13:101", 13, 1, false)
}
