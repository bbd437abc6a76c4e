package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

// scale decides how many brokers the StatefulSet has. It is raised here, and lowered in one place alone: by the operation ScaleIn, one
// broker at a time, the highest number first, when the metadata say that this broker holds nothing.
func scale(t *turn) {
	wanted := max(1, t.c.Spec.Replicas)
	t.want.Replicas = min(max(wanted, t.present()), maxBrokers)
	if m, known := t.s.Metadata.Get(); known {
		for _, id := range m.Registered {
			// One that holds something comes back, also if it was given it in the moment in which it was taken away.
			if id < maxBrokers && id >= t.want.Replicas && t.holds(id, m) != "" {
				t.want.Replicas = id + 1
			}
		}
	}
	if t.want.Replicas <= wanted {
		t.scaleOut(wanted)
		return
	}
	if blocked := t.leaving(wanted); blocked != "" {
		t.find(conditions.Progressing, conditions.ScaleInBlocked, blocked)
	} else {
		t.find(conditions.Progressing, conditions.ScalingIn, fmt.Sprintf("from %d to %d brokers", t.want.Replicas, wanted))
	}
}

// present is how many brokers the StatefulSet has now. While there is none, because it is made again, those count that it had.
func (t *turn) present() int32 {
	if s := t.s.Objects.StatefulSet; s != nil && s.Spec.Replicas != nil {
		return *s.Spec.Replicas
	}
	n := t.c.Status.Replicas
	for _, v := range t.want.Quorum.Voters {
		n = max(n, v.ID+1)
	}
	for _, b := range t.brokers {
		if b.pod != nil {
			n = max(n, b.id+1)
		}
	}
	if t.c.Status.Replicas == 0 { // over volumes that were kept
		for i := range t.s.Claims {
			if id, ok := desired.ClaimBroker(t.c.Name, t.s.Claims[i].Name); ok {
				n = max(n, id+1)
			}
		}
	}
	return n
}

// leaving tells what keeps the brokers from wanted on; it is empty if the highest of them may go.
func (t *turn) leaving(wanted int32) string {
	m, known := t.s.Metadata.Get()
	if !known {
		return "what the brokers that would go hold is not known: " + why(t.s.Metadata)
	}
	if t.holds(t.want.Replicas-1, m) == "" {
		return ""
	}
	var held []string
	for id := wanted; id < t.want.Replicas; id++ {
		if what := t.holds(id, m); what != "" {
			held = append(held, fmt.Sprintf("broker %d holds %s", id, what))
		}
	}
	return strings.Join(held, ", ")
}

// holds is what a broker would take with it.
func (t *turn) holds(id int32, m Metadata) string {
	var what []string
	if n := m.Replicas[id]; n > 0 {
		what = append(what, fmt.Sprintf("%d replicas", n))
	}
	if slices.Contains(m.Voters, id) {
		what = append(what, "a vote in the metadata quorum")
	}
	return strings.Join(what, " and ")
}

// scaleOut reports brokers that were never registered.
func (t *turn) scaleOut(wanted int32) {
	m, known := t.s.Metadata.Get()
	if !known {
		return
	}
	var fresh []string
	for id := range wanted {
		if !slices.Contains(m.Registered, id) {
			fresh = append(fresh, fmt.Sprint(id))
		}
	}
	if len(fresh) > 0 {
		t.find(conditions.Progressing, conditions.ScalingOut, "brokers being added: "+strings.Join(fresh, ", "))
		t.within(Busy)
	}
}

// departed tells of brokers that are yet to go, and takes brokers out of the metadata that have no pod and are not to have one.
func departed(t *turn) {
	m, known := t.s.Metadata.Get()
	s := t.s.Objects.StatefulSet
	if s == nil || s.Spec.Replicas == nil {
		return
	}
	for _, b := range t.brokers {
		if b.pod == nil || b.id < *s.Spec.Replicas || b.id < t.want.Replicas {
			continue
		}
		where := ""
		if b.state.kind == lost {
			where = ": " + b.state.message
		}
		t.find(conditions.Progressing, conditions.ScalingIn, fmt.Sprintf("broker %d stops", b.id)+where)
		t.within(Watchful)
	}
	if !known {
		return
	}
	for _, id := range m.Registered {
		if id < *s.Spec.Replicas || id < t.want.Replicas || id >= maxBrokers || t.holds(id, m) != "" || t.hasPod(id) {
			continue
		}
		t.do(UnregisterBroker{id})
		t.within(Busy)
	}
}

func (t *turn) hasPod(id int32) bool { return int(id) < len(t.brokers) && t.brokers[id].pod != nil }
