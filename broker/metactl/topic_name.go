package metactl

import (
	"strings"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

func refuseName(name string) *refusal {
	if !kafka.ValidTopicName(name) {
		return refused(kafka.InvalidTopicException,
			"Topic name %q is invalid: want 1 to %d of ASCII letters, digits, '.', '_' and '-', but neither . nor ..", name, kafka.MaxTopicNameLength)
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
