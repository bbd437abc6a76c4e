package seglog

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/leaderepoch"
	"github.com/fairlead-io/fairlead/broker/record"
)

// epochWitness compares the batches that recovery reads with the leader epochs that a file gave. The file may be whole and
// of another partition, or of another time: then the batches are right, and the epochs are found in them.
type epochWitness struct {
	start  kafka.Offset      // of the log: the history need not know what is before
	last   kafka.LeaderEpoch // of the batch seen last
	doubts bool              // the file is not this log's
}

// see takes a batch, before it is noted in the history. Up to sealed the history must be complete; behind it the file may not
// know epochs that began since.
func (w *epochWitness) see(h record.Header, epochs *leaderepoch.History, sealed kafka.Offset) {
	w.last = max(w.last, h.LeaderEpoch)
	known, ok := epochs.EpochOf(h.BaseOffset)
	if !ok && epochs.Len() > 0 {
		w.doubts = w.doubts || h.LeaderEpoch >= 0 && h.BaseOffset >= w.start
		return
	}
	w.doubts = w.doubts || ok && h.LeaderEpoch < known || h.LeaderEpoch >= 0 && h.NextOffset() <= sealed && h.LeaderEpoch != known
}
