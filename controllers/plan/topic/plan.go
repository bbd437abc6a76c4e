package topic

import (
	"time"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// Finalizer keeps a Topic with deletionPolicy Delete until its topic is gone.
const Finalizer = "fairlead.io/topic"

// Plan is what to do now.
type Plan struct {
	// Actions are done in this order; after one that is not carried out the rest is left.
	Actions []Action
	// Status is the whole status of the Topic. It is written when it differs from what is there.
	Status v1alpha1.TopicStatus
	// LookAgain is when to look again if nothing that is watched changes before; 0: not at all.
	LookAgain time.Duration
	// Begun: this plan begins something, or an earlier one did, and it is not seen to be done. The next look must be newer than this.
	Begun bool
}

// How long until the next look.
const (
	// Soon is for what was begun and is not seen yet. It doubles with each look, up to Retry.
	Soon = time.Second
	// Retry is for what the brokers refused, or did not answer.
	Retry = 30 * time.Second
	// Busy is for replicas on their way, which brokers tell nobody about.
	Busy = 10 * time.Second
	// Steady is for what is as it should be, or can only be changed by somebody: health and by-hand changes are looked at.
	Steady = 45 * time.Second
)

// Patience is how long a cluster may not answer until its topics are reported unknown: brokers restart, leaders move.
const Patience = time.Minute

// notSeen is how many looks a topic that brokers took the creation of may not be seen, until it is created again.
const notSeen = 5

// Changes are the actions that change a topic that exists. When there are two, brokers are to judge both before one is carried out.
func (p Plan) Changes() []Action {
	var out []Action
	for _, a := range p.Actions {
		switch a.(type) {
		case Grow, Alter:
			out = append(out, a)
		}
	}
	return out
}

// Acts tells whether the plan changes something in the cluster.
func (p Plan) Acts() bool {
	for _, a := range p.Actions {
		if Kind(a) != "" {
			return true
		}
	}
	return false
}
