package cluster

import (
	"testing"

	"github.com/fairlead-io/fairlead/controllers/fact"
)

func TestWhyAFactIsUnknownDoesNotChangeFromTryToTry(t *testing.T) {
	const text = `Get "http://10.0.0.2:9094/readyz": read tcp 10.0.0.1:54321->10.0.0.2:9094: connection reset by peer`
	const want = `Get "http://10.0.0.2:9094/readyz": read tcp 10.0.0.2:9094: connection reset by peer`
	if got := why(fact.Unknown[int](text)); got != want {
		t.Error(got)
	}
	if got := why(fact.Unknown[int]("dial tcp 10.0.0.2:9094: connect: connection refused")); got != "dial tcp 10.0.0.2:9094: connect: connection refused" {
		t.Error(got)
	}
}
