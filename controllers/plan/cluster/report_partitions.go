package cluster

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/controllers/conditions"
)

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
		t.find(conditions.Replicated, conditions.UnderReplicated, counted(m.UnderReplicated, m.UnderReplicatedExamples, "under-replicated")+t.behind())
	} else {
		t.find(conditions.Replicated, conditions.InSync, "")
	}
	if m.Offline+m.UnderMinISR+m.UnderReplicated > 0 {
		t.within(Watchful)
	}
}

// behind names the brokers whose replicas are not in sync, or not known to be.
func (t *turn) behind() string {
	var ids []string
	for _, b := range t.brokers {
		if b.id < t.want.Replicas && !b.settled() {
			ids = append(ids, fmt.Sprint(b.id))
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return " (behind or away: broker " + strings.Join(ids, ", ") + ")"
}

// withoutMetadata tells from what brokers and pods say alone.
func (t *turn) withoutMetadata() {
	t.within(Watchful)
	unreachable := "the operator cannot ask the brokers: " + why(t.s.Metadata)
	t.find(conditions.Replicated, conditions.BrokersUnreachable, unreachable)
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
		t.find(conditions.Available, conditions.BrokersUnreachable, unreachable)
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
