package partition

import "github.com/fairlead-io/fairlead/broker/replica"

// waitTable holds the produces that wait; a ticket is a place in it. Places are used again, so that a partition which
// is written to allocates only while more produces wait than ever before.
type waitTable struct {
	places []finished
	free   []uint64
}

func (t *waitTable) add(f finished) uint64 {
	if n := len(t.free); n > 0 {
		ticket := t.free[n-1]
		t.free = t.free[:n-1]
		t.places[ticket] = f
		return ticket
	}
	t.places = append(t.places, f)
	return uint64(len(t.places) - 1)
}

func (t *waitTable) take(ticket uint64) finished {
	f := t.places[ticket]
	t.places[ticket] = finished{}
	t.free = append(t.free, ticket)
	return f
}

func (t *waitTable) len() int { return len(t.places) - len(t.free) }

// finish gives a completed produce its answer. p.mu is held.
func (p *Partition) finish(c replica.Completion) finished {
	f := p.waiting.take(c.Ticket)
	f.result.Code = c.Code
	if c.Code != 0 {
		f.result = p.refusal(c.Code)
	}
	f.result.LogStart = p.machine.LogStart()
	return f
}
