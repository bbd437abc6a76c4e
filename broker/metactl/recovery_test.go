package metactl

import (
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/leaderepoch"
)

func TestLogsThatContinueAnother(t *testing.T) {
	log := func(end kafka.Offset, epochs ...leaderepoch.Entry) replicaEnd {
		return replicaEnd{end: end, epochs: epochs}
	}
	e := func(epoch kafka.LeaderEpoch, start kafka.Offset) leaderepoch.Entry {
		return leaderepoch.Entry{Epoch: epoch, Start: start}
	}
	for _, c := range []struct {
		name        string
		log, member replicaEnd
		want        bool
	}{
		{"the same", log(10, e(0, 0), e(1, 5)), log(10, e(0, 0), e(1, 5)), true},
		{"longer in the same epoch", log(11, e(0, 0), e(1, 5)), log(10, e(0, 0), e(1, 5)), true},
		{"longer by an epoch", log(12, e(0, 0), e(1, 5), e(2, 10)), log(10, e(0, 0), e(1, 5)), true},
		{"shorter", log(9, e(0, 0), e(1, 5)), log(10, e(0, 0), e(1, 5)), false},
		{"another epoch at the last record", log(12, e(0, 0), e(2, 9)), log(10, e(0, 0)), false},
		{"an older epoch at the last record", log(12, e(0, 0)), log(10, e(0, 0), e(1, 9)), false},
		{"beside an empty log", log(12, e(0, 0)), log(0), true},
		{"both empty", log(0), log(0), true},
		{"empty beside another", log(0), log(10, e(0, 0)), false},
		{"records before its history were deleted, or are too far back to tell", log(30, e(5, 20)), log(10, e(0, 0)), true},
		{"its history begins at the member's end", log(30, e(5, 10)), log(10, e(0, 0)), true},
	} {
		if got := c.log.holdsLastOf(c.member); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
