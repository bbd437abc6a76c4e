package cluster

import (
	"slices"

	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

// objects writes the Kubernetes objects that are not as wanted.
func objects(t *turn) {
	if !t.makeObjects {
		return
	}
	t.want.LiveSettings = t.liveSettings()
	live := t.s.Objects
	t.apply(t.want.ServiceAccount(), orNil(live.ServiceAccount))
	t.apply(t.want.BrokersService(), orNil(live.BrokersService))
	t.apply(t.want.BootstrapService(), orNil(live.BootstrapService))
	t.apply(t.want.ConfigMap(), orNil(live.ConfigMap))
	t.apply(t.want.Budget(), orNil(live.Budget))
	// A pod that says it has the new settings must have read them, and none may ever read the files of somebody else: those of an earlier Cluster
	// of this name have other identities.
	held := t.applies("ConfigMap", desired.ConfigMapName(t.c.Name)) || live.ConfigMap != nil && live.ConfigMap.DeletionTimestamp != nil
	if !t.orphaning && !held {
		s := t.want.StatefulSet()
		if live.StatefulSet != nil {
			s.ResourceVersion = live.StatefulSet.ResourceVersion // its number of replicas was decided by what was seen
		}
		t.apply(s, orNil(live.StatefulSet))
	}
}

// apply writes one object, unless it is as wanted. One that is being deleted is waited for.
func (t *turn) apply(want, live desired.Object) {
	switch {
	case live != nil && live.GetDeletionTimestamp() != nil:
		t.find(conditions.Progressing, conditions.Applying, kind(want)+" "+want.GetName()+" is being deleted, and is made again then")
		t.within(Busy)
	case live == nil || !desired.AsWanted(live, want):
		t.do(Apply{want})
		t.find(conditions.Progressing, conditions.Applying, kind(want)+" "+want.GetName()+" is written")
		t.within(Busy)
	}
}

// applies tells whether this plan writes the object.
func (t *turn) applies(kindName, name string) bool {
	return slices.ContainsFunc(t.actions, func(a Action) bool {
		w, ok := a.(Apply)
		return ok && kind(w.Object) == kindName && w.Object.GetName() == name
	})
}

func kind(o desired.Object) string { return o.GetObjectKind().GroupVersionKind().Kind }

// orNil keeps a nil pointer from becoming an object.
func orNil[T any, P interface {
	*T
	desired.Object
}](p P) desired.Object {
	if p == nil {
		return nil
	}
	return p
}
