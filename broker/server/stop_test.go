package server

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/config"
)

// TestABrokerThatStopsDoesNotWaitForLongPolls: who waits for records is answered with what there is, also when nothing is drained. Without that
// it would wait on, and be cut off without an answer.
func TestABrokerThatStopsDoesNotWaitForLongPolls(t *testing.T) {
	all := cluster(t, 3, config.Values{"fairlead.shutdown.drain.ms": "0"})
	all[0].create("t", 3)
	leader := leaderOf(t, all, "t")
	c := leader.dial()
	poll := fetchRequest("t", 0, 1<<20)
	poll.MaxWaitMillis, poll.MinBytes = 60_000, 1
	c.send(c.frame(poll))
	eventually(t, "the fetch has come", func() bool { return leader.clientServer.Stats().Requests > 0 })
	leader.stop()
	if resp := c.answer(poll, c.correlation).(*kmsg.FetchResponse); len(resp.Topics) != 1 {
		t.Errorf("the fetch was answered by %+v", resp)
	}
}
