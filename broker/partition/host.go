package partition

import (
	"sync"
	"sync/atomic"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/replica"
)

// host is what all partitions of a broker share: settings, the latest image, whether writing is possible, and the
// queues of partitions that need attention.
type host struct {
	o     Options
	image atomic.Pointer[metadata.Image]

	standing atomic.Uint64           // rises when what concerns all partitions changes: fenced, failure
	fenced   atomic.Bool             // this broker lost the quorum: it serves nothing as a leader
	space    space                   // whether appends are refused for lack of it
	failure  atomic.Pointer[Failure] // set once: the directory is offline

	now atomic.Int64 // the last Elapsed that a tick came with

	wakeFlush chan struct{} // capacity 1: a flush was asked for
	changedHW atomic.Bool   // a watermark moved since the last checkpoint

	mu                     sync.Mutex // taken with a partition's mutex held, never the other way round; guards the rest
	restless, flush, dirty []*Partition
	failed                 []*Partition       // what waits there is to be answered
	alterAt                map[*Partition]int // in alters
	alters                 []proposal
	altering               bool // a request is in flight
}

// proposal is an ISR change that waits to be sent.
type proposal struct {
	p *Partition
	replica.Alter
}

// Failure is an error after which the log directory, or one log, is not written to any more.
type Failure struct {
	Doing     string // what failed
	Partition kafka.TopicPartition
	Err       error
}

func (f *Failure) Error() string {
	return f.Doing + " " + f.Partition.String() + ": " + f.Err.Error()
}

func (f *Failure) Unwrap() error { return f.Err }

// fail takes the directory offline. The first failure stays.
func (h *host) fail(doing string, p kafka.TopicPartition, err error) {
	h.failure.CompareAndSwap(nil, &Failure{Doing: doing, Partition: p, Err: err})
	h.standing.Add(1)
}

func (h *host) offline() bool { return h.failure.Load() != nil }

// addRestless puts a partition into the queue of those that the next tick looks at. p.mu is held.
func (h *host) addRestless(p *Partition) {
	if p.marks.restless {
		return
	}
	p.marks.restless = true
	h.mu.Lock()
	h.restless = append(h.restless, p)
	h.mu.Unlock()
}

// addDirty puts a partition into the list of those that FlushOld looks at. p.mu is held.
func (h *host) addDirty(p *Partition) {
	if p.marks.dirty {
		return
	}
	p.marks.dirty = true
	h.mu.Lock()
	h.dirty = append(h.dirty, p)
	h.mu.Unlock()
}

// addFlush asks for a flush of a partition by Manager.Flush. p.mu is held.
func (h *host) addFlush(p *Partition) {
	if p.marks.flush {
		return
	}
	p.marks.flush = true
	h.mu.Lock()
	h.flush = append(h.flush, p)
	h.mu.Unlock()
	select {
	case h.wakeFlush <- struct{}{}:
	default:
	}
}
