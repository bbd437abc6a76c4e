package metactl

import (
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// maxTopicName is Kafka's: a name, a dash and a partition number must fit into a file name of 255.
const maxTopicName = 249

// CheckTopicName tells what is wrong with a topic's name, "" when nothing is.
func CheckTopicName(name string) string {
	switch {
	case name == "":
		return "the topic name is empty"
	case name == "." || name == "..":
		return "the topic name must not be . or .."
	case len(name) > maxTopicName:
		return "the topic name is longer than 249 characters"
	}
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return "the topic name has characters other than ASCII letters, digits, '.', '_' and '-'"
		}
	}
	return ""
}

func refuseName(name string) *refusal {
	if reason := CheckTopicName(name); reason != "" {
		return refused(kafka.InvalidTopicException, "Topic name is invalid: %s.", reason)
	}
	return nil
}

// collision is an existing topic whose name differs only in '.' against '_', since metrics of Kafka's tools cannot tell
// the two apart; "" when there is none. Such names are equal up to the first of these characters.
func collision(i *metadata.Image, name string) string {
	at := strings.IndexAny(name, "._")
	if at < 0 {
		return ""
	}
	prefix := name[:at]
	for t := range i.TopicsFrom(prefix) {
		if !strings.HasPrefix(t.Name, prefix) {
			break
		}
		if t.Name != name && sameButDots(t.Name, name) {
			return t.Name
		}
	}
	return ""
}

func sameButDots(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	dot := func(c byte) bool { return c == '.' || c == '_' }
	for i := range len(a) {
		if a[i] != b[i] && !(dot(a[i]) && dot(b[i])) {
			return false
		}
	}
	return true
}
