package crash

import (
	"fmt"
	"sort"
	"sync"
	"time"
)

// lane is what is known of one partition. The n-th record sent to it has the value n.
type lane struct {
	sent  int64
	acked map[int64]int64 // sequence -> offset
	acks  []time.Time     // of every acknowledgement, ascending
	seen  []int64         // sequences, in the order in which the reader was shown them
	next  int64           // offset that the reader must be shown next
}

// ledger holds what was sent, acknowledged and shown. Its methods may be called from any goroutine.
type ledger struct {
	mu     sync.Mutex
	lanes  []lane
	broken []string
}

func newLedger(partitions int32) *ledger {
	l := &ledger{lanes: make([]lane, partitions)}
	for i := range l.lanes {
		l.lanes[i].acked = map[int64]int64{}
	}
	return l
}

func (l *ledger) breaks(format string, args ...any) {
	const most = 50
	if len(l.broken) < most {
		l.broken = append(l.broken, fmt.Sprintf(format, args...))
	}
}

// send gives the sequence of the next record for the partition.
func (l *ledger) send(partition int32) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lanes[partition].sent++
	return l.lanes[partition].sent - 1
}

func (l *ledger) ack(partition int32, sequence, offset int64, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &l.lanes[partition]
	if before, twice := p.acked[sequence]; twice {
		l.breaks("K1: record %d of partition %d was acknowledged twice, at %d and %d", sequence, partition, before, offset)
	}
	p.acked[sequence] = offset
	p.acks = append(p.acks, at)
}

func (l *ledger) fail(partition int32, sequence int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.breaks("K1: produce of record %d to partition %d: %v", sequence, partition, err)
}

func (l *ledger) saw(partition int32, offset, sequence int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &l.lanes[partition]
	if offset != p.next {
		l.breaks("K4: the reader was shown offset %d of partition %d, want %d", offset, partition, p.next)
	}
	p.next = offset + 1
	p.seen = append(p.seen, sequence)
}

func (l *ledger) refused(partition int32, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.breaks("K4: the reader's position in partition %d was refused: %v", partition, err)
}

// ackedCount is the number of acknowledgements of a partition.
func (l *ledger) ackedCount(partition int32) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lanes[partition].acks)
}

// gap is the longest time between two acknowledgements of a partition of which the second came after from; a
// partition without any since then counts up to now.
func (l *ledger) gap(partition int32, from, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	acks := l.lanes[partition].acks
	first := sort.Search(len(acks), func(i int) bool { return acks[i].After(from) })
	last := from
	if first > 0 {
		last = acks[first-1]
	}
	var longest time.Duration
	for _, at := range acks[first:] {
		longest = max(longest, at.Sub(last))
		last = at
	}
	if first == len(acks) {
		longest = now.Sub(last)
	}
	return longest
}

// entry is one record of the final log.
type entry struct{ offset, sequence int64 }

// check compares with the records that the cluster holds, per partition in the order of offsets.
func (l *ledger) check(final [][]entry) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.lanes {
		l.checkLane(int32(p), &l.lanes[p], final[p])
	}
	return l.broken
}

func (l *ledger) checkLane(partition int32, p *lane, log []entry) {
	if int64(len(log)) != p.sent {
		l.breaks("K2: partition %d holds %d records, %d were sent", partition, len(log), p.sent)
	}
	for i, e := range log {
		if e.sequence != int64(i) {
			l.breaks("K2: the record at offset %d of partition %d is %d, want %d", e.offset, partition, e.sequence, i)
			break // the first difference makes all others
		}
	}
	at := map[int64]int64{}
	for _, e := range log {
		at[e.sequence] = e.offset
	}
	if int64(len(p.acked)) != p.sent {
		l.breaks("K1: %d records of partition %d were acknowledged, %d were sent", len(p.acked), partition, p.sent)
	}
	for sequence := range p.sent {
		offset, acked := p.acked[sequence]
		if now, there := at[sequence]; acked && (!there || now != offset) {
			l.breaks("K3: record %d of partition %d was acknowledged at offset %d; there: %v, at %d", sequence, partition, offset, there, now)
			break
		}
	}
	if len(p.seen) != len(log) {
		l.breaks("K4: the reader was shown %d records of partition %d, it holds %d", len(p.seen), partition, len(log))
	}
	for i := range min(len(p.seen), len(log)) {
		if p.seen[i] != log[i].sequence {
			l.breaks("K4: the reader's record %d of partition %d was %d, the log has %d", i, partition, p.seen[i], log[i].sequence)
			break
		}
	}
}
