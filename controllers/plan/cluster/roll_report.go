package cluster

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/conditions"
)

// reportRoll says how far a roll is and what it waits for.
func (t *turn) reportRoll() {
	var left []string
	for _, b := range t.outdated() {
		left = append(left, fmt.Sprint(b.id))
	}
	op := t.status.Operation
	rolling := op != nil && op.Type == v1alpha1.Roll
	if len(left) == 0 && !rolling {
		return
	}
	if b := t.failedCurrent(); b != nil {
		m := "broker " + fmt.Sprint(b.id) + " was restarted and does not come back"
		if len(left) > 0 {
			m += "; left as they are meanwhile: broker " + strings.Join(left, ", ")
		}
		m += "; an edit of the Cluster is applied to broker " + fmt.Sprint(b.id) + " first"
		t.find(conditions.Progressing, conditions.RollStopped, m)
		t.within(Watchful)
		return
	}
	t.within(Busy)
	var parts []string
	if rolling {
		parts = append(parts, fmt.Sprintf("restarting broker %d", op.Broker)+t.stage(op))
	} else if why := t.obstacle(); why != "" {
		parts = append(parts, "waiting: "+why)
	} else {
		parts = append(parts, t.vetoes()...)
	}
	if len(left) > 0 {
		parts = append(parts, "to restart: "+strings.Join(left, ", "))
	}
	t.find(conditions.Progressing, conditions.Rolling, strings.Join(parts, "; "))
}

// stage tells what is left of a restart whose broker serves again.
func (t *turn) stage(op *v1alpha1.Operation) string {
	if int(op.Broker) < len(t.brokers) {
		if b := t.brokers[op.Broker]; b.pod != nil && string(b.pod.UID) != op.PodUID && b.serves() && !b.settled() {
			return ", which is back and has replicas that are not in sync yet"
		}
	}
	return ""
}

// vetoes are why none of the brokers may be stopped.
func (t *turn) vetoes() []string {
	var out []string
	for _, b := range t.outdated() {
		if b.losesVolume() && b.state.kind == running {
			out = append(out, fmt.Sprintf("broker %d is not restarted: its claim %s is being deleted, and its data go when its pod does; delete the pod if they may", b.id, b.claim.Name))
		}
	}
	for _, b := range t.rollable() {
		v, known := t.s.Verdicts[b.id].Get()
		switch {
		case !known:
			out = append(out, fmt.Sprintf("waiting: whether broker %d may be stopped is not known: %s", b.id, why(t.s.Verdicts[b.id])))
		case !v.Safe:
			out = append(out, "waiting: "+v.String())
		}
	}
	return out
}
