package handler

import (
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/partition"
)

// poll waits until the fetch is satisfied, its time is over, the broker stops or the connection is gone, and completes the reply. It runs on a
// goroutine of its own. Only partitions that have reported something since the last look are read again.
func (f *fetchCall) poll(reply *conn.Reply, wait time.Duration) {
	defer f.Release()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var wake chan struct{}
	look := f.readNews
	if f.watch != nil {
		wake = f.watch.wake
	} else {
		w := newFetchWatch(f)
		defer w.stop()
		wake, look = w.wake, func() { f.readAgain(w.take()) }
		// What came between the first read and the watches has told nobody: look once more.
		f.readAll()
	}
	for !f.satisfied() {
		select {
		case <-wake:
			look()
		case <-timer.C:
			look()
			reply.Complete(f.finish()...)
			return
		case <-f.handler.draining:
			reply.Complete(f.finish()...)
			return
		case <-f.Conn.Context.Done():
			f.abandon()
			reply.CompleteClose(f.Conn.Context.Err())
			return
		}
	}
	reply.Complete(f.finish()...)
}

// readAgain reads the partitions with these indexes, within what the others leave of the response's limit.
func (f *fetchCall) readAgain(ready []int) {
	for _, i := range ready {
		f.parts[i].result.Slice.Release()
		f.parts[i].result = partition.FetchResult{}
	}
	left, first := f.limit(), true
	for i := range f.parts {
		if n := f.parts[i].result.Slice.Len; n > 0 {
			left, first = left-n, false
		}
	}
	for _, i := range ready {
		f.read(&f.parts[i], max(left, 0), first)
		if n := f.parts[i].result.Slice.Len; n > 0 {
			left, first = left-n, false
		}
	}
}

// fetchWatch watches the partitions of one waiting fetch.
type fetchWatch struct {
	watches []partition.Watch
	wake    chan struct{} // has room for one: a signal is never lost and never blocks

	mu     sync.Mutex
	marked []bool // guarded by mu, as ready is
	ready  []int  // indexes of partitions with news
}

func newFetchWatch(f *fetchCall) *fetchWatch {
	w := &fetchWatch{watches: make([]partition.Watch, len(f.parts)), marked: make([]bool, len(f.parts)), wake: make(chan struct{}, 1)}
	kind := f.watchKind()
	for i := range f.parts {
		if target := f.parts[i].target; target != nil {
			w.watches[i] = partition.Watch{Watcher: w, Kind: kind, Index: i}
			target.Watch(&w.watches[i])
		}
	}
	return w
}

// watchKind is what ends the fetcher's wait.
func (f *fetchCall) watchKind() partition.WatchKind {
	switch {
	case f.replica != kafka.NoNode:
		return partition.WatchLogEnd
	case partition.Isolation(f.req.IsolationLevel) == partition.ReadCommitted:
		return partition.WatchLastStable
	}
	return partition.WatchHighWatermark
}

// PartitionReady is called under the partition's lock. See [partition.Watcher].
func (w *fetchWatch) PartitionReady(watch *partition.Watch) {
	w.mu.Lock()
	if !w.marked[watch.Index] {
		w.marked[watch.Index] = true
		w.ready = append(w.ready, watch.Index)
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// take gives the indexes of partitions with news since the last call.
func (w *fetchWatch) take() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	ready := w.ready
	w.ready = nil
	for _, i := range ready {
		w.marked[i] = false
	}
	return ready
}

func (w *fetchWatch) stop() {
	for i := range w.watches {
		w.watches[i].Stop()
	}
}
