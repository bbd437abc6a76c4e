package seglog

import "github.com/fairlead-io/fairlead/broker/kafka"

// hintCount is how many positions a log remembers: the ends of the last appends and reads. Readers go on where they
// stopped and watermarks stand at ends of appends, so most look-ups need no index.
const hintCount = 8

// hints are positions of batches: the batch that follows offset next begins at position in seg. Guarded by Log.mu.
type hints struct {
	ring *[hintCount]hint // nil until the log is used
	n    int
}

type hint struct {
	seg      *segment
	next     kafka.Offset
	position int64
}

func (h *hints) add(s *segment, next kafka.Offset, position int64) {
	if h.ring == nil {
		h.ring = new([hintCount]hint)
	}
	h.ring[h.n%hintCount] = hint{s, next, position}
	h.n++
}

// find gives the position in s of the first batch at or behind offset, if it is remembered.
func (h *hints) find(s *segment, offset kafka.Offset) (int64, bool) {
	if h.ring == nil {
		return 0, false
	}
	for i := range h.ring {
		if t := &h.ring[i]; t.seg == s && t.next == offset {
			return t.position, true
		}
	}
	return 0, false
}

// clear forgets all: the log was cut, or segments were replaced.
func (h *hints) clear() { *h = hints{} }
