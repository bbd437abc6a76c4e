package crash

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/test/control"
)

// The folder of one follower is deleted under a running broker: that replica leaves the in-sync set, everything else goes on, and the
// replica is made anew when the broker starts again.
func TestAFolderDeletedUnderARunningBroker(t *testing.T) {
	c, adm := cluster(t, control.Options{Brokers: brokers, Settings: map[string]string{
		"replica.lag.time.max.ms": "1000", "log.flush.interval.ms": "500", // so that both are noticed soon
	}})
	l := newLoad(t, c, adm)
	const partition = 0
	follower := (leader(t, adm, l.Topic(), partition) + 1) % brokers
	dir, err := c.DataDir(follower)
	must(t, err)
	must(t, os.RemoveAll(filepath.Join(dir, fmt.Sprintf("%s-%d", l.Topic(), partition))))
	await(t, "it leaves the in-sync set, alone", func(ctx context.Context) error {
		ps, err := topicState(ctx, adm, l.Topic())
		if err != nil {
			return err
		}
		for _, p := range ps {
			if slices.Contains(p.ISR, int32(follower)) == (p.Partition == partition) {
				return fmt.Errorf("the in-sync set of partition %d is %v, without the folder of %d on broker %d", p.Partition, p.ISR, partition, follower)
			}
		}
		return nil
	})
	awaitAcks(t, l.Ledger, "acknowledgements without it", 50)
	must(t, c.Stop(follower))
	must(t, c.Start(follower))
	awaitInSync(t, adm, l.Topic())
	awaitAcks(t, l.Ledger, "acknowledgements with it again", 50)
	verify(t, l)
}
