package seglog

import (
	"fmt"
	"os"
	"testing"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// A leader-epoch-checkpoint that is whole and not this log's costs no record after a crash, and is made anew.
func TestLeaderEpochsOfAnotherLog(t *testing.T) {
	for _, segmentBytes := range []int32{1000, 1 << 20} {
		for _, sealed := range []bool{true, false} {
			for name, file := range map[string]string{
				"higher epochs": "0\n2\n7 0\n9 50\n", "lower epochs": "0\n1\n0 0\n", "other starts": "0\n3\n1 0\n2 10\n3 20\n",
				"a later start": "0\n1\n4 1000\n", "none": "0\n0\n", "not a file of ours": "x", "missing": "",
			} {
				t.Run(fmt.Sprintf("%s, segments of %d, sealed %v", name, segmentBytes, sealed), func(t *testing.T) {
					fs := vfs.NewMem(1)
					c := small()
					c.SegmentBytes = segmentBytes
					l, _ := mustOpen(t, fs, Options{Config: c})
					for i := range 40 {
						must(t, l.Append(batchSpec{at: l.EndOffset(), epoch: kafka.LeaderEpoch(1 + i/10), ts: now0, values: []string{"a", "b"}}.build(t), now0))
					}
					if sealed {
						must(t, l.Close())
						l, _ = mustOpen(t, fs, Options{Config: c, Clean: true})
					}
					want, epochs, point := readAll(t, l), fmt.Sprint(l.Epochs().Entries()), l.RecoveryPoint()
					l.forgetFiles()
					_ = fs.Remove("data/t-0/" + epochsName) // it may not be there yet
					if file != "" {
						must2(must2(fs.OpenFile("data/t-0/"+epochsName, os.O_RDWR|os.O_CREATE)).WriteAt([]byte(file), 0))
					}
					for range 2 {
						var r RecoveryReport
						l, r = mustOpen(t, fs, Options{Config: c, RecoveryPoint: point})
						if got := readAll(t, l); got != want || r.Cut != nil {
							t.Fatalf("the log ends at %d: %+v", l.EndOffset(), r)
						}
						if got := fmt.Sprint(l.Epochs().Entries()); got != epochs {
							t.Errorf("epochs %s, want %s", got, epochs)
						}
						must(t, l.Close())
					}
				})
			}
		}
	}
}
