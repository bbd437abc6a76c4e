package config

import (
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Op is what a change does to a value, with the numbers of IncrementalAlterConfigs.
type Op int8

// The operations.
const (
	Set      Op = 0
	Delete   Op = 1
	Append   Op = 2
	Subtract Op = 3
)

// Change is one change of one setting. A nil Value is refused but for Delete.
type Change struct {
	Name  string
	Op    Op
	Value *string
}

// Scope says which brokers a change of broker settings is for.
type Scope int8

// The scopes.
const (
	OneBroker Scope = iota
	AllBrokers
)

// AlterTopic applies changes to a topic's own settings and gives the new ones; current stays as it is. All changes
// apply or none does. defaults are the layers below the topic, for lists that start from the default.
func AlterTopic(current Values, defaults Layers, changes []Change) (Values, *Refusal) {
	defaults.Topic = nil
	start := func(d *Def) string {
		if p, ok := defaults.topicValue(d); ok {
			return p.String()
		}
		return ""
	}
	next, refusal := alter(current, changes, TopicDef, start, topicNoList)
	if refusal != nil {
		return nil, refusal
	}
	if refusal := ValidateTopic(next, defaults); refusal != nil {
		return nil, refusal
	}
	return next, nil
}

// ValidateTopic checks the whole of a topic's own settings: at creation, and for AlterConfigs, which replaces them.
func ValidateTopic(v Values, defaults Layers) *Refusal {
	for _, name := range v.Names() {
		d := TopicDef(name)
		if d == nil {
			return &Refusal{kafka.InvalidConfig, "Unknown topic config name: " + name}
		}
		if refusal := d.Check(v[name]); refusal != nil {
			return refusal
		}
	}
	defaults.Topic = v
	return topicConflict(defaults, ResolveTopic(defaults))
}

// AlterBroker applies changes to what was altered before for one broker or for all, likewise.
func AlterBroker(scope Scope, current Values, changes []Change) (Values, *Refusal) {
	start := func(d *Def) string {
		if d.Default != nil {
			return *d.Default
		}
		return ""
	}
	next, refusal := alter(current, changes, BrokerDef, start, brokerNoList)
	if refusal != nil {
		return nil, refusal
	}
	if refusal := ValidateBroker(scope, next); refusal != nil {
		return nil, refusal
	}
	return next, nil
}

// ValidateBroker checks the whole of what is altered for one broker or for all. Names that the table does not know
// are accepted: they may be a plug-in's.
func ValidateBroker(scope Scope, v Values) *Refusal {
	var fixed, single []string
	for _, name := range v.Names() {
		switch d := BrokerDef(name); {
		case d == nil:
		case d.Update == ReadOnly:
			fixed = append(fixed, name)
		case d.Update == PerBroker && scope == AllBrokers:
			single = append(single, name)
		case d.Dynamic() == ReadOnly:
			fixed = append(fixed, name)
		}
	}
	if fixed != nil {
		return &Refusal{kafka.InvalidRequest, "Cannot update these configs dynamically: [" + strings.Join(fixed, ", ") + "]"}
	}
	if single != nil {
		return &Refusal{kafka.InvalidRequest,
			"Cannot update these configs at default cluster level, broker id must be specified: [" + strings.Join(single, ", ") + "]"}
	}
	for _, name := range v.Names() {
		if d := BrokerDef(name); d != nil {
			if refusal := d.Check(v[name]); refusal != nil {
				return &Refusal{kafka.InvalidRequest, refusal.Message}
			}
		}
	}
	return nil
}

// alter applies the operations without looking at values. start gives the list that Append and Subtract begin with
// where none is set, noList the refusal of these for other types.
func alter(current Values, changes []Change, find func(string) *Def, start func(*Def) string, noList func(Change) *Refusal) (Values, *Refusal) {
	next := current.Clone()
	seen := map[string]bool{}
	for _, c := range changes {
		if seen[c.Name] {
			return nil, &Refusal{kafka.InvalidRequest, "Error due to duplicate config keys"}
		}
		seen[c.Name] = true
	}
	for _, c := range changes {
		if c.Value == nil && c.Op != Delete {
			return nil, &Refusal{kafka.InvalidRequest, "Null value not supported for : " + c.Name}
		}
		d := find(c.Name)
		switch c.Op {
		case Set:
			next[c.Name] = *c.Value
		case Delete:
			delete(next, c.Name)
		case Append, Subtract:
			if d == nil || d.Type != List {
				return nil, noList(c)
			}
			now, ok := current[c.Name]
			if !ok {
				now = start(d)
			}
			next[c.Name] = editList(c.Op, now, *c.Value)
		default:
			return nil, &Refusal{kafka.UnknownServerError, "Unknown operation on config key " + c.Name}
		}
	}
	return next, nil
}

func topicNoList(c Change) *Refusal {
	if TopicDef(c.Name) == nil {
		return &Refusal{kafka.InvalidConfig, "Unknown topic config name: " + c.Name}
	}
	return &Refusal{kafka.InvalidConfig, "Can't " + strings.ToUpper(c.Op.verb()) + " to key " + c.Name + " because its type is not LIST."}
}

func brokerNoList(c Change) *Refusal {
	return &Refusal{kafka.InvalidConfig, "Config value " + c.Op.verb() + " is not allowed for config key: " + c.Name}
}

func (o Op) verb() string {
	if o == Append {
		return "append"
	}
	return "subtract"
}

// editList adds the items that are not there, or removes the first of each; the order of the rest stays. Values come from clients and may
// have millions of items.
func editList(op Op, now, items string) string {
	have := splitList(now)
	if op == Append {
		there := make(map[string]bool, len(have))
		for _, s := range have {
			there[s] = true
		}
		for _, item := range splitList(items) {
			if !there[item] {
				there[item] = true
				have = append(have, item)
			}
		}
		return strings.Join(have, ",")
	}
	out := map[string]int{} // how often an item is to go
	for _, item := range splitList(items) {
		out[item]++
	}
	kept := have[:0]
	for _, s := range have {
		if out[s] > 0 {
			out[s]--
			continue
		}
		kept = append(kept, s)
	}
	return strings.Join(kept, ",")
}

func splitList(s string) []string {
	p, _ := parseType(List, s)
	return p.list
}
