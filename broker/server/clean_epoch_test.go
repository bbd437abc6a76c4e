package server

import (
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/seglog"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// TestARunThatNeverRegisteredKeepsTheCleanStopBeforeIt: a broker alone of three finds no quorum and is stopped again. Nothing was written, so its
// replicas are what they were, and the next registration must be able to prove it.
func TestARunThatNeverRegisteredKeepsTheCleanStopBeforeIt(t *testing.T) {
	all := cluster(t, 3, nil)
	epoch := all[2].members.state.brokerEpoch()
	for _, m := range []int{2, 1, 0} {
		all[m].stop()
	}
	if got := cleanStop(t, all[2]); got != epoch || epoch == kafka.NoBrokerEpoch {
		t.Fatalf("the clean stop is of epoch %d, it ended epoch %d", got, epoch)
	}
	all[2].start()
	eventually(t, "its logs are open", func() bool {
		_, err := vfs.OS().Stat(all[2].settings["log.dirs"] + "/.kafka_cleanshutdown")
		return err != nil
	})
	all[2].stop()
	if e := all[2].members.state.brokerEpoch(); e != kafka.NoBrokerEpoch {
		t.Fatalf("it is registered with epoch %d, without a quorum", e)
	}
	if got := cleanStop(t, all[2]); got != epoch {
		t.Errorf("the clean stop is of epoch %d now, before it was of %d", got, epoch)
	}
}

// cleanStop is the broker epoch that the last clean stop of a machine ended.
func cleanStop(t *testing.T, m *machine) kafka.BrokerEpoch {
	t.Helper()
	d, err := seglog.OpenDirectory(vfs.OS(), m.settings["log.dirs"])
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	e, clean := d.CleanShutdown()
	if !clean {
		t.Fatal("there was no clean stop")
	}
	return e
}
