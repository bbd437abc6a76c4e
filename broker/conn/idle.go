package conn

import (
	"errors"
	"time"
)

// errIdle and errStalled are causes of a close.
var (
	errIdle    = errors.New("connection is idle")
	errStalled = errors.New("request has stopped arriving")
)

// watchIdle severs connections without progress until Shutdown.
func (s *Server) watchIdle() {
	for wait(s.stopping, min(s.config.MaxIdle, s.config.MaxStall)/10) {
		s.mu.Lock()
		for c := range s.connections {
			switch without := c.elapsed() - time.Duration(c.lastActive.Load()); {
			case without >= s.config.MaxIdle && c.mayBeIdle():
				s.counters.closedIdle.Add(1)
				c.blame(errIdle)
				c.sever()
			case without >= s.config.MaxStall && c.receiving.Load() && !c.listener.Internal:
				s.counters.closedStalled.Add(1)
				c.blame(errStalled)
				c.sever()
			}
		}
		s.mu.Unlock()
	}
}

// mayBeIdle tells whether it is the peer that could bring the connection forward: nothing is due, or what is due finds no
// taker. A reply that the broker is late with does not make a connection idle.
func (c *connection) mayBeIdle() bool { return c.due.Load() == 0 || c.writing.Load() }
