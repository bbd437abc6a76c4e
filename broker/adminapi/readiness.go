package adminapi

// Phase is how far a broker's start has come, in the order of the constants.
type Phase string

// The phases.
const (
	Starting    Phase = "starting"    // before its data directory is open; Reason says what it waits for
	Recovering  Phase = "recovering"  // opening logs; Progress moves
	Joining     Phase = "joining"     // waiting for the quorum and for its registration
	CatchingUp  Phase = "catching-up" // registered and fenced until its metadata and replicas are current
	Serving     Phase = "serving"
	Stopping    Phase = "stopping" // leading leaders away
	OutOfQuorum Phase = "out-of-quorum"
)

// Health is whether the process is alive.
type Health struct {
	Healthy bool   `json:"healthy"`
	Reason  string `json:"reason,omitempty"`
}

// Readiness is whether a broker serves, and if not, what it is doing. A recovering broker is healthy: it must not be
// killed for being slow, only for standing still.
type Readiness struct {
	NodeID    int32    `json:"nodeId"`
	ClusterID string   `json:"clusterId,omitempty"`
	Ready     bool     `json:"ready"`
	Phase     Phase    `json:"phase"`
	Since     int64    `json:"since"` // when the phase began
	Reason    string   `json:"reason,omitempty"`
	Recovery  Progress `json:"recovery"`

	Version     string `json:"version"`               // of the program
	DirectoryID string `json:"directoryId,omitempty"` // of the data directory
	BrokerEpoch int64  `json:"brokerEpoch"`           // of the registration of this process; -1 while there is none
	// IsQuorumLeader tells whether this broker decides for the cluster, IsQuorumVoter whether it votes on who does, as far as it knows.
	IsQuorumLeader bool  `json:"isQuorumLeader"`
	IsQuorumVoter  bool  `json:"isQuorumVoter"`
	QuorumLeaderID int32 `json:"quorumLeaderId"` // -1 while none is known
	// Replicas are of the cluster's state that this broker knows, which may be old while it is not ready: on this broker, led by it, and
	// not in the in-sync set of their partition. CaughtUp tells that the broker is registered, not fenced, and has none of the last kind.
	Replicas      int  `json:"replicas"`
	LedPartitions int  `json:"ledPartitions"`
	OutOfSync     int  `json:"outOfSync"`
	CaughtUp      bool `json:"caughtUp"`

	DiskFull  bool  `json:"diskFull"`  // writes are refused for lack of space
	DiskBytes int64 `json:"diskBytes"` // size of the file system of the data directory; -1 when it is not known
	FreeBytes int64 `json:"freeBytes"` // likewise
}

// Progress counts work that has an end.
type Progress struct {
	Done  int64 `json:"done"`
	Total int64 `json:"total"`
	// MovedAt is when Done or Bytes was last seen to grow.
	MovedAt int64 `json:"movedAt"`
	Bytes   int64 `json:"bytes"` // read on the way
}
