package kafka

import (
	"strings"
	"testing"
)

func TestValidTopicName(t *testing.T) {
	f := func(name string, want bool) {
		t.Helper()
		if got := ValidTopicName(name); got != want {
			t.Errorf("ValidTopicName(%q) = %v, want %v", name, got, want)
		}
	}
	f("orders", true)
	f("Orders.V2_x-y", true)
	f("__consumer_offsets", true)
	f("...", true)
	f(strings.Repeat("x", MaxTopicNameLength), true)
	f(strings.Repeat("x", MaxTopicNameLength+1), false)
	f("", false)
	f(".", false)
	f("..", false)
	f("a b", false)
	f("a/b", false)
	f("é", false)
	f("a\x00", false)
}
