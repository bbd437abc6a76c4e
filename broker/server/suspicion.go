package server

import (
	"context"
	"time"

	"github.com/fairlead-io/fairlead/broker/metadata"
)

// suspicionEvery is how often the quorum's leader looks for brokers that count as alive and to which it has no connection.
const suspicionEvery = 100 * time.Millisecond

// watchBrokers has the quorum's leader probe brokers that are not fenced and not connected. A connection that ends is noticed at
// once (peers.suspect); this is for what nobody noticed as a leader: the broker that led before, whose death made this one lead,
// and brokers that died before there was a connection. Without it their partitions would wait for the session timeout.
func (s *Server) watchBrokers(ctx context.Context) {
	t := time.NewTicker(suspicionEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if !s.quorum.Status().Leading {
			continue
		}
		for b := range s.images.Current().Brokers() {
			if s.unconnected(b) {
				s.peers.suspect(b.ID)
			}
		}
	}
}

// unconnected tells whether a broker that counts as alive has no control connection from here.
func (s *Server) unconnected(b *metadata.Broker) bool {
	if b.ID == s.node || b.Fenced {
		return false
	}
	c := s.peers.client(b.ID)
	return c != nil && !c.Connected()
}
