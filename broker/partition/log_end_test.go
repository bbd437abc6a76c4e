package partition_test

import (
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/broker/leaderepoch"
	"github.com/fairlead-io/fairlead/broker/partition"
)

// TestLogEnd: it names the epochs that have records, not that of a leader that has written nothing yet.
func TestLogEnd(t *testing.T) {
	c := newCluster(t, 2, nil)
	c.topic(0, 1)
	check := func(limit int, end int, want ...leaderepoch.Entry) {
		t.Helper()
		if got, ok := c.brokers[1].partition().LogEnd(limit); !ok || int(got.Offset) != end || !slices.Equal(got.Epochs, want) {
			t.Errorf("%+v, want %d %v", got, end, want)
		}
	}
	check(9, 0)
	c.brokers[0].produce(partition.AcksAll, "a", "b")
	c.settle(3)
	check(9, 2, leaderepoch.Entry{Epoch: 0})
	c.lead(1)
	c.settle(3)
	check(9, 2, leaderepoch.Entry{Epoch: 0})
	c.brokers[1].produce(partition.AcksAll, "c")
	check(9, 3, leaderepoch.Entry{Epoch: 0}, leaderepoch.Entry{Epoch: 1, Start: 2})
	check(1, 3, leaderepoch.Entry{Epoch: 1, Start: 2})
}
