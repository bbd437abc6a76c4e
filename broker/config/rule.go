package config

import (
	"strconv"
	"strings"
)

// Rule is what a value must satisfy beyond its type.
type Rule interface {
	// refuse explains in Kafka's words what is wrong with the parsed value, or returns "".
	refuse(name string, v parsed) string
	// String is the rule as the documentation of a setting shows it: [0,...].
	String() string
}

// atLeast bounds a number from below.
type atLeast int64

func (r atLeast) refuse(_ string, v parsed) string {
	if v.number() < float64(r) {
		return "Value must be at least " + strconv.FormatInt(int64(r), 10)
	}
	return ""
}

func (r atLeast) String() string { return "[" + strconv.FormatInt(int64(r), 10) + ",...]" }

// between bounds a number on both sides; both ends are allowed.
type between struct{ min, max float64 }

func (r between) refuse(_ string, v parsed) string {
	switch n := v.number(); {
	case n < r.min:
		return "Value must be at least " + plain(r.min)
	case n > r.max:
		return "Value must be no more than " + plain(r.max)
	}
	return ""
}

func (r between) String() string { return "[" + plain(r.min) + ",...," + plain(r.max) + "]" }

// gzipLevel is 1 to 9, or -1 for the library's default.
type gzipLevel struct{}

func (gzipLevel) refuse(_ string, v parsed) string {
	if n := v.int; n == -1 || 1 <= n && n <= 9 {
		return ""
	}
	return "Value must be between 1 and 9 or equal to -1"
}

func (gzipLevel) String() string { return "[1,...,9] or -1" }

// oneOf allows some words, each exactly as written. Of a list it allows any selection.
type oneOf []string

func (r oneOf) refuse(_ string, v parsed) string {
	for _, s := range v.words() {
		if !r.has(s) {
			return "String must be one of: " + strings.Join(r, ", ")
		}
	}
	return ""
}

func (r oneOf) has(s string) bool {
	for _, w := range r {
		if w == s {
			return true
		}
	}
	return false
}

func (r oneOf) String() string { return "[" + strings.Join(r, ", ") + "]" }

// filled demands text.
type filled struct{}

func (filled) refuse(_ string, v parsed) string {
	if strings.TrimSpace(v.text) == "" {
		return "String must be non-empty"
	}
	return ""
}

func (filled) String() string { return "non-empty string" }

// replicaList is the form of the throttled-replicas settings.
type replicaList struct{}

const replicaListForm = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."

func (replicaList) refuse(name string, v parsed) string {
	if len(v.list) == 1 && v.list[0] == "*" {
		return ""
	}
	for _, s := range v.list {
		partition, broker, ok := strings.Cut(s, ":")
		if !ok || !digits(partition) || !digits(broker) {
			return name + " must be the literal '*' or a list of replicas in the following format: " + replicaListForm
		}
	}
	return ""
}

func (replicaList) String() string { return replicaListForm }

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
