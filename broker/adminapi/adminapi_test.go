package adminapi

import (
	"encoding/json"
	"testing"
)

// Names in the JSON are read by other releases: this is their golden text.
func TestJSON(t *testing.T) {
	for _, r := range []struct {
		value any
		want  string
	}{
		{Readiness{NodeID: 1, ClusterID: "c", Phase: Recovering, Since: 5, Reason: "opening logs", Recovery: Progress{Done: 1, Total: 2, MovedAt: 6, Bytes: 7},
			Version: "v1", DirectoryID: "d", BrokerEpoch: 8, IsQuorumLeader: true, IsQuorumVoter: true, QuorumLeaderID: 1,
			Replicas: 9, LedPartitions: 3, OutOfSync: 2, CaughtUp: true, DiskFull: true, DiskBytes: 11, FreeBytes: 10},
			`{"nodeId":1,"clusterId":"c","ready":false,"phase":"recovering","since":5,"reason":"opening logs","recovery":{"done":1,"total":2,"movedAt":6,"bytes":7},` +
				`"version":"v1","directoryId":"d","brokerEpoch":8,"isQuorumLeader":true,"isQuorumVoter":true,"quorumLeaderId":1,` +
				`"replicas":9,"ledPartitions":3,"outOfSync":2,"caughtUp":true,"diskFull":true,"diskBytes":11,"freeBytes":10}`},
		{Readiness{Phase: Starting},
			`{"nodeId":0,"ready":false,"phase":"starting","since":0,"recovery":{"done":0,"total":0,"movedAt":0,"bytes":0},` +
				`"version":"","brokerEpoch":0,"isQuorumLeader":false,"isQuorumVoter":false,"quorumLeaderId":0,` +
				`"replicas":0,"ledPartitions":0,"outOfSync":0,"caughtUp":false,"diskFull":false,"diskBytes":0,"freeBytes":0}`},
		{Verdict{Brokers: []int32{1}, ImageVersion: 9, Total: 1, Blocks: []Block{{LosesAcks, "t", 0, "in-sync set [1]", "broker 2 catching up"}}},
			`{"brokers":[1],"safe":false,"imageVersion":9,"blocks":[{"effect":"loses-acks","topic":"t","partition":0,"reason":"in-sync set [1]","clears":"broker 2 catching up"}],"total":1,"unavoidableTotal":0}`},
		{Load{NodeID: 1, At: 2, DiskBytes: 3, FreeBytes: 4, Partitions: []PartitionLoad{{"t", 0, true, 5, 6, 7}}},
			`{"nodeId":1,"at":2,"diskBytes":3,"freeBytes":4,"partitions":[{"topic":"t","partition":0,"leader":true,"sizeBytes":5,"inRate":6,"outRate":7}]}`},
	} {
		got, err := json.Marshal(r.value)
		if err != nil || string(got) != r.want {
			t.Errorf("got  %s %v\nwant %s", got, err, r.want)
		}
	}
}

func TestVerdictInOneLine(t *testing.T) {
	for _, r := range []struct {
		v    Verdict
		want string
	}{
		{Verdict{Brokers: []int32{0, 2}, Safe: true}, "safe to stop 0,2"},
		{Verdict{Brokers: []int32{1}, Total: 3, Blocks: []Block{{LosesAcks, "t", 4, "in-sync set [1 2]", "broker 0 catching up"}}},
			"not safe to stop 1: 3 in the way, first t-4 loses-acks (in-sync set [1 2]), clears by broker 0 catching up"},
		{Verdict{Brokers: []int32{1}, Total: 1, Blocks: []Block{{Effect: LosesQuorum, Partition: -1, Reason: "1 of 3 voters would be left"}}},
			"not safe to stop 1: 1 in the way, first metadata quorum loses-quorum (1 of 3 voters would be left)"},
	} {
		if got := r.v.String(); got != r.want {
			t.Errorf("%q, want %q", got, r.want)
		}
	}
}
