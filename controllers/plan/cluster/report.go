package cluster

import (
	"fmt"
	"slices"
	"strings"

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
		t.find(conditions.Progressing, conditions.ApplyFailed, strings.ReplaceAll(strings.Join(t.s.Failures, "; "), "\n", "; "))
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
	case b.state.kind != running || b.state.failing && !known:
		return b.state.name, b.state.message
	case !known:
		return "Unreachable", "the admin endpoint does not answer: " + b.said.Why()
	}
	var wrong []string
	if b.state.failing {
		wrong = append(wrong, "it "+b.state.message)
	}
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
	well, unsure := true, ""
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
			t.find(conditions.BrokersReady, conditions.PodFailed, "pod "+b.name+": "+state+message)
		case b.state.kind == lost:
			t.find(conditions.BrokersReady, conditions.NodeLost, fmt.Sprintf("broker %d: %s", b.id, b.state.message))
		case !b.serves() && t.rackProblem(b) != "":
			t.find(conditions.BrokersReady, conditions.RackUnknown, fmt.Sprintf("broker %d: %s", b.id, t.rackProblem(b)))
		case !b.serves():
			t.find(conditions.BrokersReady, conditions.BrokersNotReady, fmt.Sprintf("broker %d: %s%s", b.id, state, message))
			t.within(Busy)
		case !b.said.Known():
			unsure = fmt.Sprintf("broker %d: %s", b.id, b.said.Why())
			t.find(conditions.BrokersReady, conditions.BrokersUnreachable, unsure)
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

// reportPartitions says whether clients are served and replicas are in sync.
func (t *turn) reportPartitions() {
	if !t.formed() {
		t.find(conditions.Available, conditions.Founding, "the brokers form their metadata quorum")
		t.find(conditions.Replicated, conditions.Founding, "")
		t.within(Busy)
		return
	}
	m, known := t.s.Metadata.Get()
	if !known {
		t.withoutMetadata()
		return
	}
	if m.Offline > 0 {
		t.find(conditions.Available, conditions.OfflinePartitions, counted(m.Offline, m.OfflineExamples, "without a leader"))
	}
	if m.UnderMinISR > 0 {
		t.find(conditions.Available, conditions.UnderMinISR, counted(m.UnderMinISR, m.UnderMinISRExamples, "below min.insync.replicas"))
	}
	if m.Offline+m.UnderMinISR == 0 {
		t.find(conditions.Available, conditions.Serving, "")
	}
	if m.UnderReplicated > 0 {
		t.find(conditions.Replicated, conditions.UnderReplicated, counted(m.UnderReplicated, m.UnderReplicatedExamples, "under-replicated"))
	} else {
		t.find(conditions.Replicated, conditions.InSync, "")
	}
	if m.Offline+m.UnderMinISR+m.UnderReplicated > 0 {
		t.within(Watchful)
	}
}

// withoutMetadata tells from what brokers and pods say alone.
func (t *turn) withoutMetadata() {
	t.within(Watchful)
	t.find(conditions.Replicated, conditions.BrokersUnreachable, t.s.Metadata.Why())
	running, asked, leaders := 0, 0, 0
	for _, b := range t.brokers {
		if b.pod != nil && !b.state.down() {
			running++
		}
		if r, known := b.said.Get(); known {
			asked++
			if r.Ready || r.IsQuorumLeader {
				leaders++
			}
		}
	}
	switch {
	case running == 0:
		t.find(conditions.Available, conditions.NoBrokers, "no broker runs")
	case asked > 0 && leaders == 0:
		t.find(conditions.Available, conditions.NoQuorum, "no broker that answers follows a leader of the metadata quorum; its first voters: "+t.voterStates())
	default:
		t.find(conditions.Available, conditions.BrokersUnreachable, t.s.Metadata.Why())
	}
}

func (t *turn) voterStates() string {
	var out []string
	for _, v := range t.status.Quorum.Voters {
		state := "Missing"
		if int(v.ID) < len(t.brokers) {
			state, _ = t.stateOf(t.brokers[v.ID])
		}
		out = append(out, fmt.Sprintf("%d %s", v.ID, state))
	}
	return strings.Join(out, ", ")
}

// counted names some partitions and how many there are.
func counted(n int, examples []string, what string) string {
	s := fmt.Sprintf("%d partitions %s: ", n, what)
	if n == 1 {
		s = "1 partition " + what + ": "
	}
	s += strings.Join(examples, ", ")
	if n > len(examples) {
		s += ", ..."
	}
	return s
}
