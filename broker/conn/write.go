package conn

import "errors"

// maxGather is how many bytes of complete replies are gathered before they are written.
const maxGather = 256 << 10

// writer is the state of the writer goroutine.
type writer struct {
	c   *connection
	out sink
	// gathered replies are added to out and not flushed; bytes is what they have.
	gathered []*Reply
	bytes    int
}

// write is the writer goroutine: replies in the order of their requests, as many as are complete at a time.
func (c *connection) write() {
	w := writer{c: c, out: newSink(c.conn, &c.server.counters, c.server.sendfiles, c.touch)}
	clean := w.run()
	w.out.release()
	w.free()
	if clean {
		c.stopReading()
	} else {
		c.sever()
	}
	// What is left is never written. The reader notices and closes the queue.
	for r := range c.queue {
		r.Notify(r.Free)
	}
}

// run writes until the queue is closed and empty or a reply closes the connection (true), or until the connection fails (false).
func (w *writer) run() bool {
	for r := range w.c.queue {
		if !r.isComplete() && (!w.flush() || !w.await(r)) {
			r.Notify(r.Free)
			return false
		}
		w.c.mute(r)
		switch outcome, chunks, cause := r.Result(); outcome {
		case Closed:
			if !errors.As(cause, new(*notServedError)) {
				w.c.server.counters.closedByHandler.Add(1)
			}
			w.c.blame(cause)
			return w.flush()
		case Unanswered:
			w.c.due.Add(-1)
		case Answered:
			w.gathered = append(w.gathered, r)
			if !w.add(chunks) {
				return false
			}
		}
		if (w.bytes >= maxGather || len(w.c.queue) == 0) && !w.flush() {
			return false
		}
	}
	return w.flush()
}

// await waits until the reply is complete; false when the connection is severed.
func (w *writer) await(r *Reply) bool {
	r.Notify(w.c.wakeFunc)
	for !r.isComplete() {
		select {
		case <-w.c.wake: // perhaps of an earlier reply
		case <-w.c.severed:
			return false
		}
	}
	return true
}

func (w *writer) add(chunks []Chunk) bool {
	w.c.writing.Store(true)
	defer w.c.writing.Store(false)
	for i := range chunks {
		ch := &chunks[i]
		var err error
		if ch.File != nil {
			err = w.out.addFile(ch.File, ch.Pos, ch.Len)
		} else {
			err = w.out.add(ch.Bytes)
		}
		if err != nil {
			w.c.blame(err)
			return false
		}
		w.bytes += ch.Size()
	}
	return true
}

// flush writes what is gathered and frees it.
func (w *writer) flush() bool {
	if len(w.gathered) == 0 {
		return true
	}
	w.c.writing.Store(true)
	err := w.out.flush()
	w.c.writing.Store(false)
	w.c.server.counters.replies.Add(uint64(len(w.gathered)))
	w.c.due.Add(-int64(len(w.gathered)))
	w.free()
	w.c.blame(err)
	return err == nil
}

// free gives back what the gathered replies are made of.
func (w *writer) free() {
	for i, r := range w.gathered {
		r.Free()
		w.gathered[i] = nil
	}
	w.gathered, w.bytes = w.gathered[:0], 0
}
