package workload

import (
	"fmt"
	"sync"
)

// turn is a partition while it is assigned to one member.
type turn struct {
	member int
	next   int64 // offset that the member must be shown next; -1: it was shown none yet
}

// groupLane is what the group knows of one partition.
type groupLane struct {
	next      int64 // offset after those that anybody was shown, from 0 without a hole
	committed int64 // the greatest offset whose commit was answered
	repeated  int64 // records that were shown again
	turn      turn
}

// GroupLedger holds what a group's members were shown and committed. Its methods may be called from any goroutine.
type GroupLedger struct {
	mu     sync.Mutex
	lanes  map[int32]*groupLane
	broken []string
}

// NewGroupLedger is the ledger of a group that was shown nothing.
func NewGroupLedger() *GroupLedger { return &GroupLedger{lanes: map[int32]*groupLane{}} }

func (l *GroupLedger) lane(partition int32) *groupLane {
	p := l.lanes[partition]
	if p == nil {
		p = &groupLane{turn: turn{member: -1}}
		l.lanes[partition] = p
	}
	return p
}

func (l *GroupLedger) breaks(format string, args ...any) {
	if len(l.broken) < maxBroken {
		l.broken = append(l.broken, fmt.Sprintf(format, args...))
	}
}

// assigned begins a member's turn with a partition.
func (l *GroupLedger) assigned(member int, partition int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lane(partition).turn = turn{member, -1}
}

// saw is one record, shown to a member.
func (l *GroupLedger) saw(member int, partition int32, offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.lane(partition)
	if p.turn.member == member {
		switch {
		case p.turn.next >= 0 && offset != p.turn.next:
			l.breaks("G2: member %d was shown offset %d of partition %d, want %d", member, offset, partition, p.turn.next)
		case p.turn.next < 0 && offset < p.committed:
			l.breaks("G3: member %d begins partition %d at %d, %d is committed", member, partition, offset, p.committed)
		}
		p.turn.next = offset + 1
	} // otherwise the member does not know yet that the partition is another's, and what it is shown is a repetition
	switch {
	case offset > p.next:
		l.breaks("G1: member %d was shown offset %d of partition %d, nobody was shown %d", member, offset, partition, p.next)
		p.next = offset + 1
	case offset < p.next:
		p.repeated++
	default:
		p.next++
	}
}

// committed is the answer to a commit.
func (l *GroupLedger) committed(partition int32, offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.lane(partition)
	p.committed = max(p.committed, offset)
}

// Shown is the offset after those that the group was shown of a partition.
func (l *GroupLedger) Shown(partition int32) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lane(partition).next
}

// Repeated is the number of records that were shown to the group again.
func (l *GroupLedger) Repeated() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var n int64
	for _, p := range l.lanes {
		n += p.repeated
	}
	return n
}

// Broken are the broken promises.
func (l *GroupLedger) Broken() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.broken...)
}
