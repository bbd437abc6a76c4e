package partition

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/leaderepoch"
)

// LogEnd is how far a log goes, and by which leaders its end was written.
type LogEnd struct {
	Offset kafka.Offset
	// Epochs are the last leader epochs that have records in the log, ascending, each with the offset of its first.
	Epochs []leaderepoch.Entry
}

// LogEnd tells the end of the log with up to limit epochs; ok is false for one that is out of service, which must not be elected for
// what it held.
func (p *Partition) LogEnd(limit int) (e LogEnd, ok bool) {
	if p.offline() {
		return LogEnd{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	start, end := p.machine.LogStart(), p.machine.LogEnd()
	if start == end {
		return LogEnd{Offset: end}, true
	}
	// A leader that was elected at the very end has written nothing yet.
	epochs := slices.DeleteFunc(p.log.Epochs().Entries(), func(e leaderepoch.Entry) bool { return e.Start >= end })
	return LogEnd{Offset: end, Epochs: epochs[max(0, len(epochs)-limit):]}, true
}
