package metadata

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Apply is the image after the log entry at index, and what it changed. The image itself stays as it was. An entry is one
// step: nobody sees the image between two of its records.
//
// A record that breaks an invariant of the image (a change of a partition that does not exist, a leader outside ISR ∪
// ELR without the mark of an unclean election) is a bug of the controller, and Apply panics with a [*Violation].
func (i *Image) Apply(index uint64, records []Record) (*Image, Delta) {
	e := i.edit(index, records)
	return e.image, e.delta()
}

// With is Apply without the delta, which is the larger part of the work.
func (i *Image) With(index uint64, records []Record) *Image { return i.edit(index, records).image }

func (i *Image) edit(index uint64, records []Record) *edit {
	e := newEdit(i, index)
	for _, r := range records {
		r.apply(e)
	}
	e.finish()
	return e
}

// Violation is the panic of [Image.Apply].
type Violation struct {
	Index  uint64
	Reason string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("metadata entry %d breaks an invariant: %s", v.Index, v.Reason)
}

// edit is an image under construction. Its trees are copies that share their nodes with the base until they are written.
type edit struct {
	base, image *Image
	topics      map[kafka.TopicID]*topicEdit
	// What was touched, for the delta; the values before are read from base.
	names   map[string]struct{}
	brokers map[kafka.NodeID]struct{}
	configs map[Resource]struct{}
}

// topicEdit is a topic that is created, removed, or has changed partitions.
type topicEdit struct {
	before  *Topic // in the base; nil for a new one
	topic   *Topic // the result when the edit is finished
	parts   partitionEdit
	touched []int32 // partitions, some more than once
	dropped bool
}

func newEdit(base *Image, index uint64) *edit {
	if base == nil {
		base = &Image{}
	}
	if index < base.version {
		panic(&Violation{index, fmt.Sprintf("the image is at %d already", base.version)})
	}
	// A tree is copied by value first, because its Copy marks both sides as shared: the base is being read by others.
	next := *base
	next.brokers = *next.brokers.Copy()
	next.topics = *next.topics.Copy()
	next.names = *next.names.Copy()
	next.configs = *next.configs.Copy()
	next.version = index
	return &edit{
		base: base, image: &next,
		topics:  map[kafka.TopicID]*topicEdit{},
		names:   map[string]struct{}{},
		brokers: map[kafka.NodeID]struct{}{},
		configs: map[Resource]struct{}{},
	}
}

func (e *edit) violated(format string, args ...any) {
	panic(&Violation{e.image.version, fmt.Sprintf(format, args...)})
}

// topic is the edit of an existing topic.
func (e *edit) topic(id kafka.TopicID) *topicEdit {
	te := e.topics[id]
	if te == nil {
		t := e.image.TopicByID(id)
		if t == nil {
			e.violated("topic id %v does not exist", id)
		}
		te = &topicEdit{before: t, topic: t, parts: partitionEdit{list: t.partitions}}
		e.topics[id] = te
	}
	if te.dropped {
		e.violated("topic %s was removed in this entry", te.topic.Name)
	}
	return te
}

// finish puts the changed topics in place.
func (e *edit) finish() {
	for _, te := range e.topics { // in any order: each writes its own key
		if !te.dropped {
			te.topic = &Topic{ID: te.topic.ID, Name: te.topic.Name, partitions: te.parts.list}
			e.image.topics.Set(te.topic.Name, te.topic)
		}
	}
}

func (e *edit) delta() Delta {
	before, after := e.base, e.image
	d := Delta{From: before.version, To: after.version, Other: otherChanged(before, after)}
	for _, name := range slices.Sorted(maps.Keys(e.names)) {
		d.addTopic(before.TopicByName(name), after.TopicByName(name))
	}
	for _, te := range slices.SortedFunc(maps.Values(e.topics), compareEdits) {
		slices.Sort(te.touched)
		for _, n := range slices.Compact(te.touched) {
			d.addPartition(te.before, te.after(), n)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(e.brokers)) {
		d.addBroker(n, before.Broker(n), after.Broker(n))
	}
	for _, r := range slices.SortedFunc(maps.Keys(e.configs), compareResources) {
		d.addConfig(r, before.Config(r), after.Config(r))
	}
	return d
}

// after is the topic of a finished edit, nil when it was removed.
func (te *topicEdit) after() *Topic {
	if te.dropped {
		return nil
	}
	return te.topic
}

// compareEdits orders topics by name, the removed ones of a name first.
func compareEdits(a, b *topicEdit) int {
	return cmp.Or(cmp.Compare(a.topic.Name, b.topic.Name), -compareBool(a.dropped, b.dropped), slices.Compare(a.topic.ID[:], b.topic.ID[:]))
}
