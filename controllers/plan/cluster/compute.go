package cluster

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

// Compute plans. It is a function of the snapshot alone.
func Compute(s Snapshot) Plan {
	if s.Cluster.DeletionTimestamp != nil {
		// Everything goes with its owner, volumes by the StatefulSet's retention policy: nothing is made again, and nothing is waited for.
		return Plan{Status: *s.Cluster.Status.DeepCopy()}
	}
	t := newTurn(s)
	for _, rule := range rules {
		rule(t)
	}
	return t.plan()
}

// Candidates are the brokers of which a plan of this snapshot would stop the first that may be stopped: what an observer asks verdicts for
// before it calls [Compute]. Verdicts that are in the snapshot already do not matter. There is none while nothing is to be stopped.
func Candidates(s Snapshot) []int32 {
	if s.Cluster.DeletionTimestamp != nil || s.Cluster.Spec.Paused || s.Cluster.Status.Quorum == nil {
		return nil
	}
	var ids []int32
	t := newTurn(s)
	config(t)
	scale(t)
	if t.obstacle() != "" {
		return nil
	}
	for _, b := range t.rollable() {
		ids = append(ids, b.id)
	}
	return ids
}

// rules are carried out in this order, all of them: a rule that cannot go on leaves the others to go on. What comes first is done first and
// decides what later rules work with; what stops brokers comes last.
var rules = []func(*turn){
	founding,    // who founds the quorum, before there is a StatefulSet; whether it was formed
	config,      // which settings brokers may get
	scale,       // how many brokers there are to be
	growth,      // volumes: before anything that needs brokers, since a full disk may be why they do not answer
	objects,     // the Kubernetes objects
	podMetadata, // labels, annotations and racks of the pods that there are
	settings,    // what running brokers take live
	departed,    // brokers that are gone for good are no longer registered
	operation,   // the one thing that stops a broker
	report,      // conditions and the rest of the status
}

// turn is one planning at work.
type turn struct {
	s       Snapshot
	c       *v1alpha1.Cluster
	brokers []*broker // all that there are or are to be, by number
	status  v1alpha1.ClusterStatus

	// want is what objects are made from. Its settings are those that were accepted.
	want desired.Cluster
	// makeObjects is false while there are to be no brokers yet.
	makeObjects bool
	// orphaning means that the StatefulSet is deleted in this plan, and so not written.
	orphaning bool

	// restartHash is of want, once it was needed.
	restartHash string

	actions []Action
	found   []metav1.Condition
	look    time.Duration
}

func newTurn(s Snapshot) *turn {
	t := &turn{s: s, c: s.Cluster, status: *s.Cluster.Status.DeepCopy(), look: Steady}
	t.want = desired.Cluster{Cluster: s.Cluster, Image: s.Cluster.Spec.Image, Replicas: max(1, s.Cluster.Spec.Replicas), ClaimSize: s.Cluster.Spec.Storage.Size}
	if t.want.Image == "" {
		t.want.Image = s.Defaults.Image
	}
	if q := s.Cluster.Status.Quorum; q != nil {
		t.want.Quorum = *q.DeepCopy()
	}
	t.brokers = brokersOf(s)
	return t
}

// do adds an action.
func (t *turn) do(a ...Action) { t.actions = append(t.actions, a...) }

// find adds a condition. Of two of one type the worse counts, with the messages of both.
func (t *turn) find(typ conditions.Type, reason conditions.Reason, message string) {
	t.found = conditions.Add(conditions.Cluster, t.found, conditions.New(conditions.Cluster, typ, reason, message))
}

// within asks for a look after at most this time.
func (t *turn) within(d time.Duration) { t.look = min(t.look, d) }

// formed tells whether the metadata quorum was formed.
func (t *turn) formed() bool { return t.status.Quorum != nil && t.status.Quorum.Formed }

// plan ends the turn.
func (t *turn) plan() Plan {
	if t.c.Spec.Paused {
		t.actions = nil
		t.status.Quorum, t.status.Operation = t.c.Status.Quorum.DeepCopy(), t.c.Status.Operation.DeepCopy()
		t.look = max(t.look, Busy)
	}
	return Plan{Actions: t.actions, Status: t.status, LookAgain: t.look}
}
