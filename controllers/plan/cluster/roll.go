package cluster

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

// roll goes on with restarting one broker, which was recorded before.
func (t *turn) roll(op *v1alpha1.Operation) {
	if op.Broker >= t.want.Replicas || int(op.Broker) >= len(t.brokers) {
		t.status.Operation = nil
		return
	}
	b := t.brokers[op.Broker]
	switch {
	case b.state.kind == lost:
		t.status.Operation = nil // nobody knows when it is back; what that means for the others is in their verdicts
	case b.pod == nil || b.going():
		if t.nextBroken() != nil {
			t.status.Operation = nil
		}
	case string(b.pod.UID) == op.PodUID:
		t.restart(b)
	case b.outdated(t.hash()) || t.back(b) || t.nextBroken() != nil || t.outage() && t.nextRestart() != nil:
		// It is back; or there is something newer to restart it with; or it may be waiting for others that do not run, whose turn it is.
		t.status.Operation = nil
	}
}

// back tells whether the broker has come back as far as it can: a replica whose partition has no leader has nobody to catch up with, and
// would hold up all others for as long as the broker is away that has it. What they may do is in their verdicts.
func (t *turn) back(b *broker) bool {
	if b.settled() {
		return true
	}
	r, known := b.said.Get()
	m, counted := t.s.Metadata.Get()
	return b.pod != nil && !b.going() && known && r.Ready && counted && r.OutOfSync > 0 && r.OutOfSync <= m.Offline
}

// restart deletes the pod, if what was found when it was recorded still holds. If not, the record goes: nothing was done yet.
func (t *turn) restart(b *broker) {
	next := t.nextBroken()
	if next == nil {
		next = t.nextRestart()
	}
	if next == nil || next.id != b.id {
		t.status.Operation = nil
		return
	}
	why := t.rollReason(b)
	t.do(DeletePod{b.name, b.pod.UID, why}, normal("RestartingBroker", "restarting broker %d: %s", b.id, why))
}

// hash is what pods are to be started with.
func (t *turn) hash() string {
	if t.restartHash == "" {
		t.restartHash = t.want.RestartHash()
	}
	return t.restartHash
}

const startedOtherwise = "it was started with other settings or another pod spec than wanted"

func (t *turn) rollReason(b *broker) string {
	why := startedOtherwise
	if has := imageOf(b.pod); has != "" && has != t.want.Image {
		why = "its image is " + has + " and is to be " + t.want.Image
	}
	if b.state.down() {
		return "it does not run (" + b.state.name + "), and " + why
	}
	return why
}

// imageOf is what the broker's container was to be made from.
func imageOf(p *corev1.Pod) string {
	for i := range p.Spec.Containers {
		if c := &p.Spec.Containers[i]; c.Name == desired.Container {
			return c.Image
		}
	}
	return ""
}

// outdated are the brokers whose pods were started with something else than is wanted.
func (t *turn) outdated() []*broker {
	var list []*broker
	for _, b := range t.brokers {
		if b.id < t.want.Replicas && b.outdated(t.hash()) {
			list = append(list, b)
		}
	}
	return list
}

// current tells whether a pod that is made now is made as it is wanted: what it is made from was written, by a plan before this one.
func (t *turn) current() bool {
	s := t.s.Objects.StatefulSet
	return s != nil && s.DeletionTimestamp == nil && !t.orphaning &&
		s.Spec.Template.Annotations[desired.RestartHashAnnotation] == t.hash() &&
		!t.applies("ConfigMap", desired.ConfigMapName(t.c.Name))
}

// nextBroken is a pod of an old revision whose process does not run. Nothing is lost with it, so nothing is asked.
func (t *turn) nextBroken() *broker {
	if !t.current() {
		return nil
	}
	for _, b := range t.outdated() {
		if b.state.down() {
			return b
		}
	}
	return nil
}

// rollable are the brokers of an old revision whose process runs, in the order in which they are restarted: those that are not ready
// first, then by number, and the leader of the quorum, if it serves, only when it is the last of all. One whose volume somebody deletes is left:
// Kubernetes keeps the volume for as long as the pod is there, and no verdict is about its data.
func (t *turn) rollable() []*broker {
	var list []*broker
	for _, b := range t.outdated() {
		if b.state.kind == running && !b.losesVolume() {
			list = append(list, b)
		}
	}
	slices.SortStableFunc(list, func(a, b *broker) int { return order(a) - order(b) })
	if n := len(list); n > 1 && order(list[n-1]) == leaderLast {
		list = list[:n-1]
	}
	return list
}

// The order of restarts.
const (
	notServing = iota // by its own word, or it does not answer: what stops it is the verdict of others alone
	serving
	leaderLast
)

func order(b *broker) int {
	r, known := b.said.Get()
	switch {
	case !known || !b.serves():
		return notServing
	case r.IsQuorumLeader:
		return leaderLast
	}
	return serving
}

// nextRestart is the first of them that may be stopped now.
func (t *turn) nextRestart() *broker {
	if !t.current() || t.obstacle() != "" {
		return nil
	}
	list := t.rollable()
	for _, b := range list {
		if order(b) != notServing && order(list[0]) == notServing {
			return nil // no second one is stopped while one is not ready
		}
		if v, known := t.s.Verdicts[b.id].Get(); t.outage() || known && v.Safe && slices.Equal(v.Brokers, []int32{b.id}) {
			return b
		}
	}
	return nil
}

// outage tells whether it is certain that no broker serves anybody. Then nobody can be asked, and nothing is lost by a restart.
func (t *turn) outage() bool {
	return !slices.ContainsFunc(t.brokers, func(b *broker) bool { return !b.idle() })
}

// obstacle is what has to end before any broker that runs is stopped; empty if nothing has.
func (t *turn) obstacle() string {
	if t.outage() {
		return ""
	}
	for _, b := range t.brokers {
		switch r, known := b.said.Get(); {
		case b.id >= t.want.Replicas:
		case b.state.kind == lost: // what that means for others is in the verdicts
		case b.pod != nil && !b.going() && known && r.Ready: // and whether it is in sync
		case b.outdated(t.hash()) && b.state.kind == running && (!known || !b.serves()): // its own turn comes first
		default:
			state, message := t.stateOf(b)
			if message != "" {
				message = " (" + message + ")"
			}
			return fmt.Sprintf("broker %d is %s%s", b.id, state, message)
		}
	}
	return ""
}

// failedCurrent is a pod that fails with what is wanted now: to restart others would make more of it.
func (t *turn) failedCurrent() *broker {
	for _, b := range t.brokers {
		if b.id < t.want.Replicas && b.pod != nil && !b.going() && b.state.failing && !b.outdated(t.hash()) {
			return b
		}
	}
	return nil
}
