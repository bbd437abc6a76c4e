package membership

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// Options make a [Machine]: what this broker registers as, and its intervals.
type Options struct {
	Node        kafka.NodeID
	ClusterID   string
	Directory   kafka.DirectoryID
	Incarnation kafka.UUID // of this process, never used before
	Rack        string     // "" for none
	Endpoints   []metadata.Endpoint
	Features    []Feature
	// PreviousEpoch is the epoch that the directory's clean-shutdown file has, NoBrokerEpoch when there is none: see rule 5.
	PreviousEpoch kafka.BrokerEpoch

	HeartbeatInterval time.Duration // broker.heartbeat.interval.ms; DefaultHeartbeatInterval when 0
	SessionTimeout    time.Duration // broker.session.timeout.ms, as the controller has it; DefaultSessionTimeout when 0
	// RegistrationLimit bounds how long another process with our id is waited for; DefaultRegistrationLimit when 0.
	RegistrationLimit time.Duration
}

// Feature is a range of levels that this broker supports.
type Feature struct {
	Name     string
	Min, Max int16
}

// Defaults of [Options], as Kafka's.
const (
	DefaultHeartbeatInterval = 2 * time.Second
	DefaultSessionTimeout    = 9 * time.Second
	DefaultRegistrationLimit = 60 * time.Second
)

// Waits that are not settings.
const (
	// RequestTimeout is when a request without answer is given up.
	RequestTimeout = 1500 * time.Millisecond
	// LonelyLimit is how long a broker that is leaving goes on without any answer: the quorum may be stopped for good.
	LonelyLimit = 3 * time.Second
	// firstRetry and lastRetry bound the wait after a request that failed; it doubles in between. They are short, because a
	// new leader of the quorum is there within a second, and a fenced broker is out of service.
	firstRetry = 20 * time.Millisecond
	lastRetry  = 500 * time.Millisecond
	// eagerInterval is between heartbeats while something is to change soon: until unfenced, and while leaving.
	eagerInterval = 100 * time.Millisecond
)
