package cluster

import (
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

// scaleIn goes on with taking a broker away: see [operation].
func (t *turn) scaleIn(op *v1alpha1.Operation) {
	t.within(Busy)
	s := t.s.Objects.StatefulSet
	if s == nil || s.Spec.Replicas == nil {
		return
	}
	switch live := *s.Spec.Replicas; {
	case op.Broker < t.want.Replicas-1 || op.Broker < t.c.Spec.Replicas || !t.s.Metadata.Known() && live > op.Broker:
		t.status.Operation = nil // it was raised again, or the broker was given something, or it is not known
	case live > op.Broker:
		m, _ := t.s.Metadata.Get()
		if t.holds(op.Broker, m) != "" || live != op.Broker+1 {
			t.status.Operation = nil
			return
		}
		if t.orphaning || t.applies("StatefulSet", s.Name) {
			return // one thing at a time with the StatefulSet
		}
		t.want.Replicas = op.Broker
		smaller := t.want.StatefulSet()
		smaller.ResourceVersion = s.ResourceVersion
		why := fmt.Sprintf("broker %d holds no replica and no vote", op.Broker)
		t.do(ScaleIn{smaller, why}, normal("ScalingIn", "taking broker %d away: it holds no replica and no vote", op.Broker))
	case t.nextBroken() != nil:
		t.status.Operation = nil // without it nobody may be there to say that the broker is gone; what is lost is that its volume was to go
	case t.hasPod(op.Broker) && t.brokers[op.Broker].state.kind == lost:
		if t.nextRestart() != nil {
			t.status.Operation = nil // likewise: nobody knows when the pod is gone
		}
	case t.hasPod(op.Broker): // it is waited for
	default:
		t.departing(op)
	}
}

// departing ends the taking away of a broker whose pod is gone: it is unregistered ([departed]), and then its volume goes, if it is to.
func (t *turn) departing(op *v1alpha1.Operation) {
	m, known := t.s.Metadata.Get()
	if !known || slices.Contains(m.Registered, op.Broker) {
		t.find(conditions.Progressing, conditions.ScalingIn, fmt.Sprintf("broker %d is yet to be unregistered", op.Broker))
		return
	}
	name := desired.Claim(t.c.Name, op.Broker)
	for i := range t.s.Claims {
		claim := &t.s.Claims[i]
		if claim.Name == name && claim.DeletionTimestamp == nil && t.c.Spec.Storage.DeletionPolicy == v1alpha1.Delete {
			t.do(DeleteClaim{claim.Name, claim.UID, fmt.Sprintf("broker %d was taken out of the cluster", op.Broker)})
			return
		}
	}
	t.status.Operation = nil
	t.within(Soon)
}

// nextLeaving is the broker that can be taken away now.
func (t *turn) nextLeaving() (int32, bool) {
	m, known := t.s.Metadata.Get()
	s := t.s.Objects.StatefulSet
	if !known || s == nil || s.Spec.Replicas == nil {
		return 0, false
	}
	last := *s.Spec.Replicas - 1
	if last < max(1, t.c.Spec.Replicas) || last >= int32(len(t.brokers)) || t.want.Replicas != last+1 || t.holds(last, m) != "" {
		return 0, false
	}
	return last, true
}
