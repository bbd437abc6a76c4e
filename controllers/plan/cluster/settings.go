package cluster

import (
	"maps"
	"slices"
	"strings"

	brokerconfig "github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

// settings alters in the running brokers what they take live, and takes back what this operator altered before and the spec no longer
// has. What somebody else altered, and the spec never had, is left alone.
func settings(t *turn) {
	now, known := t.s.Settings.Get()
	if !t.formed() || !t.makeObjects || !known {
		return
	}
	wanted := t.want.LiveValues()
	change := AlterSettings{Set: map[string]string{}}
	for name, value := range wanted {
		if have, there := now[name]; !there || !sameValue(name, have, value) {
			change.Set[name] = value
		}
	}
	for _, name := range t.ownedSettings() {
		_, stays := wanted[name]
		if _, there := now[name]; there && !stays {
			change.Delete = append(change.Delete, name)
		}
	}
	if len(change.Set)+len(change.Delete) == 0 {
		return
	}
	if !t.applies("ConfigMap", desired.ConfigMapName(t.c.Name)) {
		t.do(change) // what is altered was remembered by a plan before this one
	}
	names := slices.Sorted(maps.Keys(change.Set))
	names = append(names, change.Delete...)
	t.find(conditions.Progressing, conditions.ApplyingSettings, "altered in the running brokers: "+strings.Join(names, ", "))
	t.within(Busy)
}

// ownedSettings are those that this operator may have altered, by what the ConfigMap remembers.
func (t *turn) ownedSettings() []string {
	if t.s.Objects.ConfigMap == nil {
		return nil
	}
	return desired.LiveSettingNames(t.s.Objects.ConfigMap)
}

// liveSettings is what the ConfigMap remembers from now on: written before anything is altered, and forgotten when it was seen to be gone.
func (t *turn) liveSettings() []string {
	names := map[string]bool{}
	for name := range t.want.LiveValues() {
		names[name] = true
	}
	now, known := t.s.Settings.Get()
	for _, name := range t.ownedSettings() {
		if _, there := now[name]; there || !known {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// sameValue compares as the brokers do, who describe a value in their own writing.
func sameValue(name, a, b string) bool { return written(name, a) == written(name, b) }

func written(name, value string) string {
	for _, e := range brokerconfig.DescribeBrokerDefault(brokerconfig.Values{name: value}) {
		if e.Name == name && e.Value != nil {
			return *e.Value
		}
	}
	return value
}
