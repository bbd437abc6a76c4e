package conn

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// The pause after an error of accepting doubles between these.
const minAcceptPause, maxAcceptPause = 5 * time.Millisecond, time.Second

// accept takes connections until the listener is closed.
func (s *Server) accept(l Listener) error {
	pause := minAcceptPause
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) || err != nil && s.stopping.Err() != nil {
			return err
		}
		if err != nil {
			s.counters.acceptErrors.Add(1)
			if !wait(s.stopping, pause) {
				return err
			}
			pause = min(2*pause, maxAcceptPause)
			continue
		}
		pause = minAcceptPause
		s.counters.accepted.Add(1)
		if !s.admit(l, c) {
			_ = c.Close()
		}
	}
}

// admit starts serving a connection if the bounds allow it. It waits for a place among all, since a burst passes; too many
// from one address are refused at once.
func (s *Server) admit(l Listener, c net.Conn) bool {
	if !l.Internal && !s.places.tryTake() {
		s.counters.waitedForConnection.Add(1)
		if s.places.take(s.stopping) != nil {
			return false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ok := s.stopping.Err() == nil
	addr := addrOf(c)
	if ok && !l.Internal && !s.perIP.add(addr) {
		s.counters.refusedPerIP.Add(1)
		ok = false
	}
	if !ok {
		if !l.Internal {
			s.places.giveBack()
		}
		return false
	}
	s.nextID++
	conn := newConnection(s, l, c, s.nextID)
	s.connections[conn] = struct{}{}
	s.counters.open.Add(1)
	s.goroutines.Go(func() {
		conn.run()
		s.mu.Lock()
		delete(s.connections, conn)
		if !l.Internal {
			s.perIP.remove(addr)
		}
		s.mu.Unlock()
		s.counters.open.Add(-1)
		if !l.Internal {
			s.places.giveBack()
		}
	})
	return true
}

// ipCount counts connections by address.
type ipCount struct {
	limit     int
	overrides map[string]int
	open      map[netip.Addr]int
}

func (n *ipCount) add(a netip.Addr) bool {
	limit := n.limit
	if l, ok := n.overrides[a.String()]; ok && len(n.overrides) > 0 {
		limit = l
	}
	if n.open[a] >= limit {
		return false
	}
	if n.open == nil {
		n.open = map[netip.Addr]int{}
	}
	n.open[a]++
	return true
}

func (n *ipCount) remove(a netip.Addr) {
	if n.open[a]--; n.open[a] == 0 {
		delete(n.open, a)
	}
}

// addrOf is the address of the other end; the zero address, one for all, when it has none.
func addrOf(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// wait pauses; false when the context ended first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
