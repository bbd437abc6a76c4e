package topic

import (
	"time"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/fact"
)

// Snapshot is everything that one planning sees. Compute changes nothing in it.
type Snapshot struct {
	Now   time.Time
	Topic *v1alpha1.Topic
	// Cluster that the Topic names; nil: there is none.
	Cluster *v1alpha1.Cluster
	// Rivals are the other Topics that name the same topic of the same cluster, in any order.
	Rivals []v1alpha1.Topic

	// Found is the topic in the cluster. A known nil is a topic that does not exist.
	Found fact.Fact[*Found]
	// HeardAt is when the cluster last answered; zero: never.
	HeardAt time.Time
	// Brokers are all that are registered.
	Brokers fact.Fact[[]Broker]

	Last Last
}

// Found is a topic as brokers describe it.
type Found struct {
	ID         kafka.TopicID
	Internal   bool
	Partitions []Partition       // by number
	Settings   map[string]string // the topic's own
}

// Partition is where a partition is.
type Partition struct {
	Leader   int32   // negative: none
	Replicas []int32 // the preferred leader first; with those that a reassignment adds and removes
	ISR      []int32
	// Adding and Removing are of a reassignment that runs.
	Adding, Removing []int32
}

// Broker is a registered broker.
type Broker struct {
	ID     int32
	Rack   string
	Fenced bool // not in service
}

// Last is what came of earlier plans for the Topic. The shell keeps it in memory; a new operator begins with the zero value, and
// then asks brokers once more.
type Last struct {
	// Generation of the spec that the rest is about. With another one it counts for nothing.
	Generation int64
	// Refusal is why the last actions were not carried out, nil when they were.
	Refusal *Refusal
	// Until is when the actions that were refused may be tried again.
	Until time.Time
	// Created: the brokers took the creation of the topic, which may not be seen yet.
	Created bool
	// Unsettled counts the plans in a row that had something begun ([Plan.Begun]).
	Unsettled int
}

// Refusal is why an action was not carried out.
type Refusal struct {
	Action string // which: create, grow, ...
	// Code and Message are the broker's. Without a code nobody answered: the action may have been carried out or not.
	Code    kafka.ErrorCode
	Message string
	// Transient: it may go without anybody changing anything.
	Transient bool
}
