package seglog

import (
	"fmt"
	"os"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// A producer snapshot that is whole and of another partition is not believed after a crash.
func TestSnapshotsOfAnotherLog(t *testing.T) {
	write := func(fs vfs.FS, producer kafka.ProducerID) *Log {
		l, _ := mustOpen(t, fs, Options{})
		for i := range 60 {
			o := record.BuilderOptions{Idempotent: true, ProducerID: producer, ProducerEpoch: 2, BaseSequence: int32(i) * int32(producer)}
			must(t, l.Append(batchSpec{at: l.EndOffset(), ts: now0, values: []string{"v"}, opts: o}.build(t), now0))
		}
		must(t, l.Close())
		return l
	}
	for _, all := range []bool{true, false} {
		mine, theirs := vfs.NewMem(1), vfs.NewMem(2)
		write(mine, 5)
		other := write(theirs, 7)
		l, _ := mustOpen(t, mine, Options{Clean: true})
		want := fmt.Sprint(l.Producers().Producers())
		if all { // every snapshot is spoiled; else the one at the end only, and an older one serves
			for _, at := range other.snapshots {
				copyFile(t, theirs, mine, segmentName("data/t-0", at, snapshotSuffix))
			}
		} else {
			copyFile(t, theirs, mine, segmentName("data/t-0", 60, snapshotSuffix))
		}
		l.forgetFiles()
		l, r := mustOpen(t, mine, Options{RecoveryPoint: 60})
		if got := fmt.Sprint(l.Producers().Producers()); got != want || r.BadSnapshots == 0 {
			t.Errorf("producers %s, want %s: %+v", got, want, r)
		}
	}
}

func copyFile(t *testing.T, from, to vfs.FS, name string) {
	t.Helper()
	data := must2(vfs.ReadFile(from, name, 1<<20))
	f := must2(to.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC))
	defer f.Close()
	must2(f.WriteAt(data, 0))
}
