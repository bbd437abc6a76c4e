package seglog

import "github.com/fairlead-io/fairlead/broker/kafka"

// compactionState is what a log remembers between compactions.
type compactionState struct {
	dirtyFrom kafka.Offset // everything below was compacted with everything below it
}

func (c *compactionState) truncated(end kafka.Offset) { c.dirtyFrom = min(c.dirtyFrom, end) }
