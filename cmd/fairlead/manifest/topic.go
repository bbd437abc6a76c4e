package manifest

import "fmt"

// Topic is one Topic of a file.
type Topic struct {
	At         Place
	Name       string // in Kafka
	Partitions int32  // -1: what the cluster gives, or what the topic has
	Replicas   int32  // likewise
	Config     map[string]string

	lines map[string]int // of fields of the spec
}

// place is where a field of the topic stands.
func (t Topic) place(field string) Place {
	p := t.At
	p.Field = field
	if line, there := t.lines[field]; there {
		p.Line = line
	}
	return p
}

// Place is where something stands.
type Place struct {
	File     string
	Document int // from 1
	Line     int // from 1; 0: not known
	Field    string
}

func (p Place) String() string {
	s := fmt.Sprintf("%s: document %d", p.File, p.Document)
	if p.Line > 0 {
		s += fmt.Sprintf(", line %d", p.Line)
	}
	if p.Field != "" {
		s += ": " + p.Field
	}
	return s
}

// field is the place of a field of what stands at p.
func (p Place) field(name string) Place {
	p.Field = name
	return p
}

// Error is what is wrong at a place.
type Error struct {
	At   Place
	What string
}

func (e *Error) Error() string { return e.At.String() + ": " + e.What }

func (p Place) errorf(format string, args ...any) error {
	return &Error{p, fmt.Sprintf(format, args...)}
}

// Note is something in a file that nobody acts on.
type Note struct {
	At   Place
	What string
}

func (n Note) String() string { return n.At.String() + ": " + n.What }
