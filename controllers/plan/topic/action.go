package topic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Action is one thing to do. Each may be done twice. String is one line, for logs and tests.
type Action interface {
	fmt.Stringer
	action()
}

// Create creates the topic.
type Create struct {
	Topic      string
	Partitions int32 // -1: the cluster's default
	Replicas   int32 // -1: the cluster's default
	Settings   map[string]string
}

// Grow adds partitions, to this many in all.
type Grow struct {
	Topic      string
	Partitions int32
}

// Alter sets settings and takes others back.
type Alter struct {
	Topic  string
	Set    map[string]string
	Remove []string // ascending
}

// Reassign gives partitions other replicas, the preferred leader first.
type Reassign struct {
	Topic    string
	Replicas map[int32][]int32 // by partition
}

// Delete deletes the topic with this id, or, without an id, of this name: then not being there is success. With an id it is not, since
// another topic may have the name by now.
type Delete struct {
	Topic string
	ID    kafka.TopicID
}

// Hold puts the finalizer on the Topic, Release takes it off.
type (
	Hold    struct{}
	Release struct{}
)

// Event records something for people, about the Topic.
type Event struct {
	Warning bool
	Reason  string // UpperCamelCase
	Message string
}

func (Create) action()   {}
func (Grow) action()     {}
func (Alter) action()    {}
func (Reassign) action() {}
func (Delete) action()   {}
func (Hold) action()     {}
func (Release) action()  {}
func (Event) action()    {}

func (a Create) String() string {
	return fmt.Sprintf("create %s, partitions %d, replicas %d%s", a.Topic, a.Partitions, a.Replicas, settings(a.Settings, nil))
}
func (a Grow) String() string  { return fmt.Sprintf("grow %s to %d partitions", a.Topic, a.Partitions) }
func (a Alter) String() string { return "alter " + a.Topic + settings(a.Set, a.Remove) }
func (a Reassign) String() string {
	s := "reassign " + a.Topic
	for _, n := range slices.Sorted(maps.Keys(a.Replicas)) {
		s += fmt.Sprintf(", %d to %v", n, a.Replicas[n])
	}
	return s
}
func (a Delete) String() string {
	if a.ID.IsZero() {
		return "delete " + a.Topic
	}
	return "delete " + a.Topic + " " + a.ID.String()
}
func (Hold) String() string    { return "put the finalizer on" }
func (Release) String() string { return "take the finalizer off" }
func (a Event) String() string { return "event " + a.Reason + ": " + a.Message }

func settings(set map[string]string, remove []string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(set)) {
		fmt.Fprintf(&b, ", %s=%s", k, set[k])
	}
	for _, k := range remove {
		fmt.Fprintf(&b, ", take back %s", k)
	}
	return b.String()
}
