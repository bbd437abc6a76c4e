package cluster

import (
	"time"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// Plan is what to do now.
type Plan struct {
	// Actions are done in this order. They do not depend on each other: what would depend on an action waits for the plan that sees that it was
	// done. So one that fails, a claim beyond a quota for example, does not keep the others from being done.
	Actions []Action
	// Status is the whole status of the Cluster. It is written after the actions, when it differs from what is there: also when an
	// action failed, since it says what was seen.
	Status v1alpha1.ClusterStatus
	// LookAgain is when to look again if nothing that is watched changes before. It is at least [Soon]; only a Cluster that is being
	// deleted needs no look, and has 0.
	LookAgain time.Duration
}

// How long until the next look.
const (
	Soon     = time.Millisecond // something was recorded, and is to be done with the next plan
	Busy     = 3 * time.Second  // brokers are awaited, which Kubernetes does not watch
	Watchful = 10 * time.Second // something is wrong that may end by itself
	Steady   = 30 * time.Second // nothing is going on: the brokers' health is looked at
)
