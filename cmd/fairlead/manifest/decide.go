package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Found is a topic as the cluster has it.
type Found struct {
	Partitions int32
	Replicas   int32             // of each partition
	Config     map[string]string // the topic's own
}

// Change is what is to be done. The zero value is nothing.
type Change struct {
	Create  bool // with the partitions, replicas and settings that are wanted
	GrowTo  int32
	Set     map[string]string
	Restore []string // settings that go back to their default, ascending
}

// None tells that there is nothing to do.
func (c Change) None() bool {
	return !c.Create && c.GrowTo == 0 && len(c.Set) == 0 && len(c.Restore) == 0
}

// Decide compares. A topic is grown and reconfigured; it cannot lose partitions, and its replicas are not moved. A setting that is not wanted
// goes back to its default. An error is for the place where the impossible is wanted.
func Decide(want Topic, found *Found) (Change, error) {
	if found == nil {
		return Change{Create: true}, nil
	}
	var c Change
	switch {
	case want.Partitions > found.Partitions:
		c.GrowTo = want.Partitions
	case want.Partitions >= 0 && want.Partitions < found.Partitions:
		return c, want.place("spec.partitions").errorf("topic %s has %d: partitions cannot be taken away, %d is impossible", want.Name, found.Partitions, want.Partitions)
	}
	if want.Replicas >= 0 && want.Replicas != found.Replicas {
		return c, want.place("spec.replicationFactor").errorf(
			"topic %s has %d: replicas are not moved here, give it %d by a reassignment or make the topic again", want.Name, found.Replicas, want.Replicas)
	}
	for name, value := range want.Config {
		if now, set := found.Config[name]; !set || now != value {
			if c.Set == nil {
				c.Set = map[string]string{}
			}
			c.Set[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found.Config)) {
		if _, wanted := want.Config[name]; !wanted {
			c.Restore = append(c.Restore, name)
		}
	}
	return c, nil
}

// Describe says in one line what was done to a topic.
func (c Change) Describe(topic string) string {
	if c.None() {
		return "topic " + topic + ": as it should be"
	}
	var parts []string
	if c.Create {
		parts = append(parts, "created")
	}
	if c.GrowTo > 0 {
		parts = append(parts, fmt.Sprintf("grown to %d partitions", c.GrowTo))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		parts = append(parts, name+"="+c.Set[name])
	}
	for _, name := range c.Restore {
		parts = append(parts, name+" back to its default")
	}
	return "topic " + topic + ": " + strings.Join(parts, ", ")
}
