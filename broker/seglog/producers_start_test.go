package seglog

import (
	"testing"

	"github.com/fairlead-io/fairlead/broker/record"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// A transaction that began below the log's start makes nothing unstable below it, after a truncation too.
func TestATruncationKeepsTheProducersStart(t *testing.T) {
	l, _ := mustOpen(t, vfs.NewMem(1), Options{})
	o := record.BuilderOptions{Idempotent: true, ProducerID: 7, ProducerEpoch: 1, Transactional: true, BaseSequence: record.NoSequence}
	keyed(t, l, o, "k=open")
	for range 5 {
		must(t, l.Append(plain(t, l.EndOffset(), 1, now0), now0))
	}
	must(t, l.AdvanceStart(3))
	for range 3 {
		if got := l.Producers().LastStable(l.EndOffset()); got != 3 {
			t.Errorf("the last stable offset of [3, %d) is %d, want 3", l.EndOffset(), got)
		}
		must(t, l.TruncateTo(l.EndOffset()-1))
	}
}
