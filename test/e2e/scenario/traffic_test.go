package scenario

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/e2e/kube"
	"github.com/fairlead-io/fairlead/test/workload"
)

// traffic is a producer, a reader and a consumer group at work on a topic of six partitions with three replicas.
type traffic struct {
	load  *workload.Load
	group *workload.Group
}

const topic = "ledger"

func startTraffic(t *testing.T, c *kube.Cluster, namespace string) *traffic {
	t.Helper()
	kube.Must(t, c.Apply(t.Context(), namespace, topicManifest(topic, fmt.Sprintf("partitions: %d", partitions), "replicationFactor: 3", `config: {min.insync.replicas: "2"}`)))
	awaitReady(t, c, namespace, "topic/"+topic)
	load, err := workload.StartLoad(workload.LoadOptions{Bootstrap: bootstrap(namespace), Topic: topic, Partitions: partitions, Pace: 20 * time.Millisecond})
	kube.Must(t, err)
	group, err := workload.StartGroup(workload.GroupOptions{Bootstrap: bootstrap(namespace), Topic: topic, Group: "readers", Members: 2})
	kube.Must(t, err)
	tr := &traffic{load, group}
	t.Cleanup(group.Close)
	tr.awaitAcks(t, c, "first acknowledgements")
	return tr
}

// awaitAcks waits until every partition has acknowledgements more than now.
func (tr *traffic) awaitAcks(t *testing.T, c *kube.Cluster, what string) {
	t.Helper()
	const enough = 20
	var before [partitions]int
	for p := range before {
		before[p] = tr.load.Ledger.Acked(int32(p))
	}
	c.Await(t, time.Minute, what, func(context.Context) error {
		for p := range before {
			if n := tr.load.Ledger.Acked(int32(p)) - before[p]; n < enough {
				return fmt.Errorf("partition %d has %d of %d more acknowledgements", p, n, enough)
			}
		}
		return nil
	})
}

// during plays a step and says how long a partition was without an acknowledgement.
func (tr *traffic) during(t *testing.T, c *kube.Cluster, step string, play func(t *testing.T)) {
	t.Helper()
	begin := time.Now()
	ok := t.Run(step, play)
	tr.awaitAcks(t, c, "acknowledgements after: "+step)
	end := time.Now()
	t.Logf("%s: %.0f s, longest time of a partition without an acknowledgement %.2f s", step, end.Sub(begin).Seconds(), tr.load.Ledger.LongestGap(begin, end).Seconds())
	if !ok {
		t.FailNow()
	}
}

// finish ends the traffic and reports every broken promise.
func (tr *traffic) finish(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	final, err := tr.load.Finish(ctx)
	kube.Must(t, err)
	kube.Must(t, tr.group.Finish(ctx))
	for _, broken := range append(tr.load.Ledger.Check(final), tr.group.Ledger.Broken()...) {
		t.Error(broken)
	}
	counts := tr.load.Ledger.Counts()
	t.Logf("%d records sent, %d acknowledged, %d failed; the group was shown %d of them twice", counts.Sent, counts.Acked, counts.Failed, tr.group.Ledger.Repeated())
	if counts.Failed != 0 || counts.Sent == 0 {
		t.Errorf("%d of %d produces failed", counts.Failed, counts.Sent)
	}
}
