package topic

import (
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/broker/config"
)

// ForeignSettings are set by tools that reassign replicas, for as long as they work. A Topic that does not name them leaves them alone.
var ForeignSettings = []string{"follower.replication.throttled.replicas", "leader.replication.throttled.replicas"}

// alter is what the settings of a topic lack of a spec; false when nothing. A value that means the same in other words ("TRUE", "01")
// is the same value: brokers describe values in their own words.
func alter(topic string, want, have map[string]string) (Alter, bool) {
	a := Alter{Topic: topic, Set: map[string]string{}}
	for name, value := range want {
		if is, ok := have[name]; !ok || canonical(name, is) != canonical(name, value) {
			a.Set[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, ok := want[name]; !ok && !slices.Contains(ForeignSettings, name) {
			a.Remove = append(a.Remove, name)
		}
	}
	return a, len(a.Set) > 0 || len(a.Remove) > 0
}

func canonical(name, value string) string {
	if d := config.TopicDef(name); d != nil {
		return d.Canonical(value)
	}
	return value
}
