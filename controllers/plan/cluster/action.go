package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/controllers/desired"
)

// Action is one thing to do. Each may be done twice: what it asks for is then so already.
// String is one line, for logs and tests, and names no secret.
type Action interface {
	fmt.Stringer
	action()
}

// Apply makes the object so, by server-side apply with force: whatever else is in the live object stays.
type Apply struct{ Object desired.Object }

// DeletePod deletes one pod, with its grace period. A pod of that name with another UID, and none at all, are left alone. Disruptive.
type DeletePod struct {
	Name string
	UID  types.UID
	Why  string // for people: a clause
}

// PatchPod puts labels and annotations on a pod, by a merge patch with the pod's UID in it. A nil value takes a key away.
type PatchPod struct {
	Name                string
	UID                 types.UID
	Labels, Annotations map[string]*string
}

// GrowClaim asks for a larger volume: spec.resources.requests.storage of the claim.
type GrowClaim struct {
	Name string
	UID  types.UID
	Size resource.Quantity
}

// DeleteClaim deletes the claim of a broker that is gone for good, and so its data.
type DeleteClaim struct {
	Name string
	UID  types.UID
	Why  string
}

// MarkFormed puts on a claim that the metadata quorum of its volume was formed, so that it is not founded again when the Cluster is deleted and
// made again over the volume.
type MarkFormed struct {
	Name string
	UID  types.UID
}

// OrphanStatefulSet deletes a StatefulSet and leaves its pods and claims (propagation policy Orphan), so that the next plan can make it
// anew with another volume template, which cannot be changed in place.
type OrphanStatefulSet struct {
	Name string
	UID  types.UID
	Why  string
}

// ScaleIn takes away the broker with the highest number, which holds nothing: it applies the StatefulSet, as [Apply] does, with one replica
// fewer than it has. The object carries the resource version of the StatefulSet that was seen, so that it is done to no other. Disruptive.
type ScaleIn struct {
	StatefulSet *appsv1.StatefulSet
	Why         string
}

// AlterSettings changes what is altered for all brokers while they run (IncrementalAlterConfigs on the cluster-wide default). The
// two name different settings.
type AlterSettings struct {
	Set    map[string]string
	Delete []string // ascending
}

// UnregisterBroker takes a broker that is gone for good out of the cluster's metadata. The brokers refuse it while it holds a replica or a
// vote. Not being registered is success.
type UnregisterBroker struct{ ID int32 }

// Event records something for people, about the Cluster. It belongs to the action before it, and is left out when that one failed; without
// one, to a change of status.
type Event struct {
	Type    string // corev1.EventTypeNormal or corev1.EventTypeWarning
	Reason  string // UpperCamelCase
	Message string
}

func (Apply) action()             {}
func (DeletePod) action()         {}
func (PatchPod) action()          {}
func (GrowClaim) action()         {}
func (DeleteClaim) action()       {}
func (MarkFormed) action()        {}
func (OrphanStatefulSet) action() {}
func (ScaleIn) action()           {}
func (AlterSettings) action()     {}
func (UnregisterBroker) action()  {}
func (Event) action()             {}

func (a Apply) String() string {
	return "apply " + a.Object.GetObjectKind().GroupVersionKind().Kind + " " + a.Object.GetName()
}
func (a DeletePod) String() string   { return "delete pod " + a.Name + ": " + a.Why }
func (a GrowClaim) String() string   { return "grow claim " + a.Name + " to " + a.Size.String() }
func (a DeleteClaim) String() string { return "delete claim " + a.Name + ": " + a.Why }
func (a MarkFormed) String() string  { return "mark claim " + a.Name + ": the quorum was formed" }
func (a OrphanStatefulSet) String() string {
	return "delete StatefulSet " + a.Name + ", leaving its pods: " + a.Why
}
func (a ScaleIn) String() string {
	return fmt.Sprintf("scale StatefulSet %s in to %d: %s", a.StatefulSet.Name, *a.StatefulSet.Spec.Replicas, a.Why)
}
func (a UnregisterBroker) String() string { return fmt.Sprintf("unregister broker %d", a.ID) }
func (a Event) String() string            { return "event " + a.Reason + ": " + a.Message }

func (a PatchPod) String() string {
	s := "patch pod " + a.Name
	for _, m := range []struct {
		what   string
		values map[string]*string
	}{{"label", a.Labels}, {"annotation", a.Annotations}} {
		for _, k := range slices.Sorted(maps.Keys(m.values)) {
			if v := m.values[k]; v == nil {
				s += ", take " + m.what + " " + k
			} else {
				s += ", " + m.what + " " + k + "=" + *v
			}
		}
	}
	return s
}

// Patch is the merge patch.
func (a PatchPod) Patch() []byte {
	metadata := map[string]any{"uid": a.UID}
	if len(a.Labels) > 0 {
		metadata["labels"] = a.Labels
	}
	if len(a.Annotations) > 0 {
		metadata["annotations"] = a.Annotations
	}
	b, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		panic(err) // maps of strings
	}
	return b
}

// String has names alone: a value may be a secret.
func (a AlterSettings) String() string {
	var parts []string
	if len(a.Set) > 0 {
		parts = append(parts, "set "+strings.Join(slices.Sorted(maps.Keys(a.Set)), ", "))
	}
	if len(a.Delete) > 0 {
		parts = append(parts, "take back "+strings.Join(a.Delete, ", "))
	}
	return "alter settings: " + strings.Join(parts, "; ")
}

// Disruptive tells whether the action stops a broker.
func Disruptive(a Action) bool {
	switch a.(type) {
	case DeletePod, ScaleIn:
		return true
	}
	return false
}

func normal(reason, format string, args ...any) Event {
	return Event{corev1.EventTypeNormal, reason, fmt.Sprintf(format, args...)}
}
