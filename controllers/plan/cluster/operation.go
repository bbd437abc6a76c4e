package cluster

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// operation is the one disruptive thing. It is recorded by one plan and done by a later one, if what was found then still holds:
//
//	none ──record──> recorded ──still so──> done ──the broker settled, or is gone──> none
//	                     └──no longer so──> none
//
// What comes first:
//
//  1. A pod of an old revision whose process does not run is replaced: nobody is served by it, and it is what a corrected spec is for.
//  2. A broker that is to go and holds nothing is taken away.
//  3. Brokers of an old revision are restarted, those first that are not ready, and the leader of the metadata quorum last.
func operation(t *turn) {
	if !t.makeObjects {
		return
	}
	if op := t.status.Operation; op != nil {
		switch op.Type {
		case v1alpha1.Roll:
			t.roll(op)
		case v1alpha1.ScaleIn:
			t.scaleIn(op)
		default: // of another release
			t.status.Operation = nil
		}
	}
	if t.status.Operation == nil {
		t.begin()
	}
	t.reportRoll()
}

// begin records the next operation, if there is one. It is never done in the same plan.
func (t *turn) begin() {
	if b := t.nextBroken(); b != nil {
		t.record(v1alpha1.Roll, b, t.rollReason(b))
		return
	}
	if id, ok := t.nextLeaving(); ok {
		t.record(v1alpha1.ScaleIn, t.brokers[id], "it holds no replica and no vote")
		return
	}
	if b := t.nextRestart(); b != nil {
		t.record(v1alpha1.Roll, b, t.rollReason(b))
	}
}

func (t *turn) record(typ v1alpha1.OperationType, b *broker, reason string) {
	t.status.Operation = &v1alpha1.Operation{
		Type: typ, Broker: b.id, PodUID: string(uid(b)), Reason: reason,
		StartedAt: metav1.NewTime(t.s.Now.Truncate(time.Second)),
	}
	t.within(Soon)
}

func uid(b *broker) types.UID {
	if b.pod == nil {
		return ""
	}
	return b.pod.UID
}
