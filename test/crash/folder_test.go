package crash

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/control"
	"github.com/twmb/franz-go/pkg/kadm"
)

// folders is a cluster that notices soon what happens to its folders.
func folders(t *testing.T) (*control.Cluster, *kadm.Client) {
	return cluster(t, control.Options{Brokers: brokers, Settings: map[string]string{
		"replica.lag.time.max.ms": "1000", "log.flush.interval.ms": "500",
	}})
}

// folder is that of a broker's replica.
func folder(t *testing.T, c *control.Cluster, broker int, topic string, partition int32) string {
	t.Helper()
	dir, err := c.DataDir(broker)
	must(t, err)
	return filepath.Join(dir, fmt.Sprintf("%s-%d", topic, partition))
}

// awaitOut waits until a broker is out of the in-sync set of one partition, which another leads, and in all others.
func awaitOut(t *testing.T, adm *kadm.Client, topic string, partition int32, broker int) {
	t.Helper()
	await(t, "it leaves the in-sync set, alone", func(ctx context.Context) error {
		ps, err := topicState(ctx, adm, topic)
		if err != nil {
			return err
		}
		for _, p := range ps {
			if slices.Contains(p.ISR, int32(broker)) == (p.Partition == partition) || p.Leader < 0 {
				return fmt.Errorf("partition %d is led by %d, its in-sync set is %v, without the log of %d on broker %d", p.Partition, p.Leader, p.ISR, partition, broker)
			}
		}
		return nil
	})
}

// The folder of a follower, and then that of a leader, is deleted under a running broker: that replica leaves the in-sync set, another one
// leads, everything else goes on, and the replica is made anew when the broker starts again.
func TestAFolderDeletedUnderARunningBroker(t *testing.T) {
	c, adm := folders(t)
	l := newLoad(t, c, adm)
	for partition, who := range []string{"follower", "leader"} {
		partition := int32(partition)
		broker := leader(t, adm, l.Topic(), partition)
		if who == "follower" {
			broker = (broker + 1) % brokers
		}
		must(t, os.RemoveAll(folder(t, c, broker, l.Topic(), partition)))
		deleted := time.Now()
		awaitOut(t, adm, l.Topic(), partition, broker)
		awaitAcks(t, l.Ledger, "acknowledgements without it", 50)
		t.Logf("the folder of a %s: longest time without acknowledgement %.3f s", who, l.Ledger.Gap(partition, deleted, time.Now()).Seconds())
		must(t, c.Stop(broker))
		must(t, c.Start(broker))
		awaitInSync(t, adm, l.Topic())
		awaitAcks(t, l.Ledger, "acknowledgements with it again", 50)
	}
	verify(t, l)
}

// The log of a broker cannot be opened when it starts, though it was stopped in order: the others lead until it can.
func TestALogThatCannotBeOpened(t *testing.T) {
	c, adm := folders(t)
	l := newLoad(t, c, adm)
	const partition = 0
	broker := leader(t, adm, l.Topic(), partition)
	must(t, c.Stop(broker))
	blocked := filepath.Join(folder(t, c, broker, l.Topic(), partition), "leader-epoch-checkpoint")
	must(t, os.RemoveAll(blocked))
	must(t, os.Mkdir(blocked, 0o755))
	must(t, c.Start(broker))
	awaitOut(t, adm, l.Topic(), partition, broker)
	awaitAcks(t, l.Ledger, "acknowledgements without it", 50)
	must(t, c.Stop(broker))
	must(t, os.RemoveAll(blocked))
	must(t, c.Start(broker))
	awaitInSync(t, adm, l.Topic())
	awaitAcks(t, l.Ledger, "acknowledgements with it again", 50)
	verify(t, l)
}
