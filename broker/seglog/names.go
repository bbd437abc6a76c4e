package seglog

import "sync"

// nameSync makes the names in a data directory durable for many logs at once: whoever asks while a sync runs shares the
// next one.
type nameSync struct {
	mu      sync.Mutex
	next    *nameRound // has not begun: its sync will see all names made before now
	running sync.Mutex // held by the one who syncs
}

type nameRound struct {
	done chan struct{}
	err  error
}

// sync returns when names that were made before the call are durable.
func (n *nameSync) sync(d *Directory) error {
	n.mu.Lock()
	r := n.next
	if r != nil {
		n.mu.Unlock()
		<-r.done
		return r.err
	}
	r = &nameRound{done: make(chan struct{})}
	n.next = r
	n.mu.Unlock()

	n.running.Lock()
	n.mu.Lock()
	n.next = nil // who comes from here on may have made a name that this sync does not see
	n.mu.Unlock()
	r.err = d.fs.SyncDir(d.dir)
	n.running.Unlock()
	close(r.done)
	return r.err
}
