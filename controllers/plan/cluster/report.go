package cluster

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

// report writes the status: what was found by the rules before it, and what the brokers and their partitions are like.
func report(t *turn) {
	t.status.ObservedGeneration = t.c.Generation
	t.status.BootstrapAddress = t.want.BootstrapAddress()
	if s := t.s.Objects.StatefulSet; s != nil && s.Spec.Replicas != nil {
		t.status.Replicas = *s.Spec.Replicas
	}
	t.reportBrokers()
	t.reportPods()
	t.reportPartitions()
	if len(t.s.Failures) > 0 {
		t.find(conditions.Progressing, conditions.ApplyFailed, steady(strings.ReplaceAll(strings.Join(t.s.Failures, "; "), "\n", "; ")))
	}
	switch {
	case conditions.Get(t.found, conditions.Progressing) != nil:
	case !t.formed():
		t.find(conditions.Progressing, conditions.Founding, "the brokers form their metadata quorum")
	default:
		t.find(conditions.Progressing, conditions.Converged, "")
	}
	if t.c.Spec.Paused {
		t.find(conditions.Paused, conditions.PausedByUser, "spec.paused is true: nothing is changed and nothing restarted")
	}
	ready := conditions.Summary(t.found, t.status.Summary+" brokers serve")
	t.status.Conditions = conditions.Merge(conditions.Cluster, t.c.Status.Conditions, append(t.found, ready), t.c.Generation, t.s.Now)
}

// reportBrokers has one line for each broker.
func (t *turn) reportBrokers() {
	t.status.Brokers = nil
	serving := int32(0)
	for _, b := range t.brokers {
		if b.id >= t.want.Replicas && b.pod == nil {
			continue
		}
		if b.serves() {
			serving++
		}
		l := v1alpha1.BrokerStatus{ID: b.id}
		l.State, l.Message = t.stateOf(b)
		if b.pod != nil {
			l.Pod, l.Node, l.Rack = b.pod.Name, b.pod.Spec.NodeName, b.pod.Annotations[desired.RackAnnotation]
		}
		if r, known := b.said.Get(); known {
			l.DirectoryID = r.DirectoryID
		} else if i := slices.IndexFunc(t.c.Status.Brokers, func(o v1alpha1.BrokerStatus) bool { return o.ID == b.id }); i >= 0 {
			l.DirectoryID = t.c.Status.Brokers[i].DirectoryID // the last that was known
		}
		t.status.Brokers = append(t.status.Brokers, l)
	}
	t.status.Summary = fmt.Sprintf("%d/%d", serving, max(1, t.c.Spec.Replicas))
}

// stateOf is a broker's state and what is wrong: by Kubernetes' word while the process does not run or cannot be asked, else by its own. Numbers that
// grow while it works are left out: they would make every look a write.
func (t *turn) stateOf(b *broker) (state, message string) {
	r, known := b.said.Get()
	switch {
	case b.state.kind != running || b.state.failing && !r.Ready:
		return b.state.name, b.state.message
	case !known:
		return "Unreachable", "the admin endpoint does not answer: " + why(b.said) + t.nodeUnknown(b)
	}
	var wrong []string
	if problem := t.rackProblem(b); problem != "" && r.Phase == adminapi.Starting {
		wrong = append(wrong, problem)
	} else if !r.Ready && r.Reason != "" {
		wrong = append(wrong, r.Reason)
	}
	if r.DiskFull {
		wrong = append(wrong, "disk full: writes are refused")
	}
	if r.Ready && !r.CaughtUp {
		wrong = append(wrong, "some of its replicas are not in sync")
	}
	return string(r.Phase), strings.Join(wrong, "; ")
}

// reportPods names the brokers that are not ready and why.
func (t *turn) reportPods() {
	well := true
	for _, b := range t.brokers {
		if b.id >= t.want.Replicas {
			continue
		}
		state, message := t.stateOf(b)
		if message != "" {
			message = ": " + message
		}
		switch {
		case b.state.failing:
			t.find(conditions.BrokersReady, failure(b.state), "pod "+b.name+": "+state+message)
		case b.state.kind == lost:
			t.find(conditions.BrokersReady, conditions.NodeLost, "pod "+b.name+message+t.untilReplaced(b))
		case !b.serves() && t.rackProblem(b) != "":
			t.find(conditions.BrokersReady, conditions.RackUnknown, fmt.Sprintf("broker %d: %s", b.id, t.rackProblem(b)))
		case !b.serves():
			t.find(conditions.BrokersReady, conditions.BrokersNotReady, fmt.Sprintf("broker %d: %s%s", b.id, state, message))
			t.within(Busy)
		case !b.said.Known():
			t.find(conditions.BrokersReady, conditions.BrokersUnreachable, fmt.Sprintf("broker %d: %s", b.id, why(b.said)))
		default:
			continue
		}
		well = false
		t.within(Watchful)
	}
	if well {
		t.find(conditions.BrokersReady, conditions.AllReady, "")
	}
}

// failure is the reason for a pod that cannot run.
func failure(s podState) conditions.Reason {
	switch s.name {
	case unschedulable:
		return conditions.PodUnschedulable
	case imagePull, "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable":
		return conditions.ImageUnavailable
	}
	return conditions.PodFailed
}

// nodeUnknown tells that a broker that is not ready may be on a node that is lost, when nobody knows.
func (t *turn) nodeUnknown(b *broker) string {
	node := t.s.Nodes[b.pod.Spec.NodeName]
	if podReady(b.pod) || node.Known() {
		return ""
	}
	return "; its node " + b.pod.Spec.NodeName + " cannot be looked at: " + why(node)
}

// untilReplaced tells of a pod on a node that does not answer why it stays.
func (t *turn) untilReplaced(b *broker) string {
	if t.node(b) == nil {
		return "" // Kubernetes takes pods away whose nodes are gone
	}
	return "; the broker may still run there, so its pod is replaced only when the node is back, or its Node is deleted or tainted " + corev1.TaintNodeOutOfService
}
