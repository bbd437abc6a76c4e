package metactl

import (
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

func TestStopVerdictIsBounded(t *testing.T) {
	w := newWorld(t, Options{})
	w.start(2)
	var pairs [][]int32
	for range maxStopExamples + 5 {
		pairs = append(pairs, []int32{0, 1})
	}
	w.create(placedTopic("pairs", pairs), newTopic("single", maxStopExamples+7, 1))
	v := SafeToStop(w.image(), []kafka.NodeID{0, 1}, nil, nil)
	if len(v.Blocked) != maxStopExamples || v.BlockedCount != maxStopExamples+5 || len(v.Unavoidable) != maxStopExamples || v.UnavoidableCount != maxStopExamples+7 || v.Safe {
		t.Errorf("%d of %d blocked and %d of %d unavoidable are listed, safe %v", len(v.Blocked), v.BlockedCount, len(v.Unavoidable), v.UnavoidableCount, v.Safe)
	}
	if v := SafeToStop(w.image(), nil, nil, nil); !v.Safe {
		t.Errorf("stopping nobody: %+v", v)
	}
}
