package topic

import (
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/broker/config"
)

// alter is what the settings of a topic lack of a spec; false when nothing. Of those that the spec does not name, the ones that are the
// Topic's own are taken back. A value that means the same in other words ("TRUE", "01") is the same value: brokers describe values in
// their own words.
func alter(topic string, want, have map[string]string, own []string) (Alter, bool) {
	a := Alter{Topic: topic, Set: map[string]string{}}
	for name, value := range want {
		if !same(name, value, have) {
			a.Set[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, ok := want[name]; !ok && slices.Contains(own, name) {
			a.Remove = append(a.Remove, name)
		}
	}
	return a, len(a.Set) > 0 || len(a.Remove) > 0
}

// owned are the names of the settings that a topic has by its Topic, ascending: those that are as the spec says, and those that were the
// Topic's before and are still there. A wish that was never carried out makes none.
func owned(want, have map[string]string, before []string) []string {
	var own []string
	for _, name := range slices.Sorted(maps.Keys(have)) {
		value, wanted := want[name]
		if wanted && same(name, value, have) || slices.Contains(before, name) {
			own = append(own, name)
		}
	}
	return own
}

func same(name, value string, have map[string]string) bool {
	is, there := have[name]
	return there && canonical(name, is) == canonical(name, value)
}

func canonical(name, value string) string {
	if d := config.TopicDef(name); d != nil {
		return d.Canonical(value)
	}
	return value
}
