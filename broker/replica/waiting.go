package replica

import "github.com/fairlead-io/fairlead/broker/kafka"

// wait is one produce that waits for an offset to be reached: all below next.
type wait struct {
	next     kafka.Offset
	deadline kafka.Elapsed
	ticket   uint64
}

// waitQueue holds waits in order of next. Nearly all come and go in that order: a queue in a slice with a head. Its
// length is bounded by the host's bound on requests in flight.
type waitQueue struct {
	waits    []wait
	head     int
	earliest kafka.Elapsed // no wait has an earlier deadline; meaningless when empty
}

func (q *waitQueue) empty() bool { return q.head == len(q.waits) }

func (q *waitQueue) push(w wait) {
	if q.empty() {
		q.waits, q.head = q.waits[:0], 0
		q.earliest = w.deadline
	}
	q.earliest = min(q.earliest, w.deadline)
	if q.head > 64 && q.head > len(q.waits)/2 {
		n := copy(q.waits, q.waits[q.head:])
		q.waits, q.head = q.waits[:n], 0
	}
	q.waits = append(q.waits, w)
	// Only the retry of a batch that is still waiting comes with an offset below the last one.
	for i := len(q.waits) - 1; i > q.head && q.waits[i-1].next > w.next; i-- {
		q.waits[i-1], q.waits[i] = q.waits[i], q.waits[i-1]
	}
}

// popReached removes the waits that are over once all offsets below end are reached.
func (q *waitQueue) popReached(end kafka.Offset, code kafka.ErrorCode, out []Completion) []Completion {
	for ; q.head < len(q.waits) && q.waits[q.head].next <= end; q.head++ {
		out = append(out, Completion{q.waits[q.head].ticket, code})
	}
	return out
}

// popAll removes all.
func (q *waitQueue) popAll(code kafka.ErrorCode, out []Completion) []Completion {
	for ; q.head < len(q.waits); q.head++ {
		out = append(out, Completion{q.waits[q.head].ticket, code})
	}
	return out
}

// popExpired removes those whose deadline is not after now.
func (q *waitQueue) popExpired(now kafka.Elapsed, out []Completion) []Completion {
	if q.empty() || q.earliest > now {
		return out
	}
	kept := q.head
	q.earliest = 1<<63 - 1
	for _, w := range q.waits[q.head:] {
		if w.deadline <= now {
			out = append(out, Completion{w.ticket, kafka.RequestTimedOut})
			continue
		}
		q.earliest = min(q.earliest, w.deadline)
		q.waits[kept] = w
		kept++
	}
	q.waits = q.waits[:kept]
	return out
}
