package workload

import (
	"fmt"
	"sort"
	"sync"
	"time"
)

// maxBroken bounds the broken promises that are kept; what follows the first ones tells little.
const maxBroken = 50

// lane is what is known of one partition. The n-th record sent to it has the value n.
type lane struct {
	sent   int64
	failed int64
	acked  map[int64]int64 // sequence -> offset
	acks   []time.Time     // of every acknowledgement, ascending
	seen   []int64         // sequences, in the order in which the reader was shown them
	next   int64           // offset that the reader must be shown next
}

// Ledger holds what was sent, acknowledged and shown. Its methods may be called from any goroutine.
type Ledger struct {
	mu     sync.Mutex
	lanes  []lane
	broken []string
}

// NewLedger is the ledger of a topic without records.
func NewLedger(partitions int32) *Ledger {
	l := &Ledger{lanes: make([]lane, partitions)}
	for i := range l.lanes {
		l.lanes[i].acked = map[int64]int64{}
	}
	return l
}

func (l *Ledger) breaks(format string, args ...any) {
	if len(l.broken) < maxBroken {
		l.broken = append(l.broken, fmt.Sprintf(format, args...))
	}
}

// send gives the sequence of the next record for the partition.
func (l *Ledger) send(partition int32) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lanes[partition].sent++
	return l.lanes[partition].sent - 1
}

func (l *Ledger) ack(partition int32, sequence, offset int64, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &l.lanes[partition]
	if before, twice := p.acked[sequence]; twice {
		l.breaks("K1: record %d of partition %d was acknowledged twice, at %d and %d", sequence, partition, before, offset)
	}
	p.acked[sequence] = offset
	p.acks = append(p.acks, at)
}

func (l *Ledger) fail(partition int32, sequence int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lanes[partition].failed++
	l.breaks("K1: produce of record %d to partition %d: %v", sequence, partition, err)
}

func (l *Ledger) saw(partition int32, offset, sequence int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &l.lanes[partition]
	if offset != p.next {
		l.breaks("K4: the reader was shown offset %d of partition %d, want %d", offset, partition, p.next)
	}
	p.next = offset + 1
	p.seen = append(p.seen, sequence)
}

func (l *Ledger) refused(partition int32, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.breaks("K4: the reader's position in partition %d was refused: %v", partition, err)
}

// Acked is the number of acknowledgements of a partition.
func (l *Ledger) Acked(partition int32) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lanes[partition].acks)
}

// shown is the offset after the last that the reader was shown.
func (l *Ledger) shown(partition int32) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lanes[partition].next
}

// Counts are sums over all partitions.
type Counts struct{ Sent, Acked, Failed, Shown int64 }

// Counts gives how much was done up to now.
func (l *Ledger) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	var c Counts
	for _, p := range l.lanes {
		c.Sent += p.sent
		c.Acked += int64(len(p.acked))
		c.Failed += p.failed
		c.Shown += int64(len(p.seen))
	}
	return c
}

// Gap is the longest time between two acknowledgements of a partition of which the second came after from; a
// partition without any since then counts up to now.
func (l *Ledger) Gap(partition int32, from, now time.Time) time.Duration {
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

// LongestGap is the longest Gap of all partitions.
func (l *Ledger) LongestGap(from, now time.Time) time.Duration {
	var longest time.Duration
	for p := range l.lanes {
		longest = max(longest, l.Gap(int32(p), from, now))
	}
	return longest
}
