package cluster

import (
	"regexp"

	"github.com/fairlead-io/fairlead/controllers/fact"
)

// localEnd is our end of a connection in an error of package net: "read tcp 10.0.0.1:54321->10.0.0.2:9094". The port is another one each time.
var localEnd = regexp.MustCompile(`\b(tcp|udp) \S+->`)

// steady is an error's text without what differs from try to try: a message that differs is a write.
func steady(text string) string { return localEnd.ReplaceAllString(text, "$1 ") }

// why tells why a fact is not known.
func why[T any](f fact.Fact[T]) string { return steady(f.Why()) }
