package seglog

import (
	"errors"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/producerstate"
)

// maxWitnesses is how many of a snapshot's producers are looked up in the log after an unclean stop: one is enough to tell
// another log's snapshot, unless the same producer wrote to both.
const maxWitnesses = 16

var errForeignSnapshot = errors.New("snapshot of another log")

// snapshotFits tells whether the log holds what a snapshot says that producers wrote last. A snapshot that is whole may be
// of another partition.
func (l *Log) snapshotFits(state *producerstate.State) bool {
	looked := 0
	for _, p := range state.Producers() {
		if p.LastOffset < l.segs[0].base {
			continue
		}
		if looked++; looked > maxWitnesses {
			break
		}
		if id, err := l.producerAt(p.LastOffset); err == nil && id != p.ID {
			return false
		}
	}
	return true
}

// producerAt is the producer of the batch that ends at an offset, NoProducerID when there is none. For the writer.
func (l *Log) producerAt(last kafka.Offset) (kafka.ProducerID, error) {
	i := len(l.segs) - 1
	for i > 0 && l.segs[i].base > last {
		i--
	}
	s := l.segs[i]
	h, err := l.open(s, logFile)
	if err != nil {
		return kafka.NoProducerID, err
	}
	defer l.files.release(h)
	header, at, err := l.find(view{seg: s, size: s.size, next: s.next}, h, last)
	if err != nil || at < 0 || header.LastOffset() != last {
		return kafka.NoProducerID, err
	}
	return header.ProducerID, nil
}
