package adminapi

// Phase is how far a broker's start has come, in the order of the constants.
type Phase string

// The phases.
const (
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
}

// Progress counts work that has an end.
type Progress struct {
	Done  int64 `json:"done"`
	Total int64 `json:"total"`
	// MovedAt is when Done last grew: what a liveness check compares.
	MovedAt int64 `json:"movedAt"`
}
