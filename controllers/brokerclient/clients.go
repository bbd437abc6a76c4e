package brokerclient

import (
	"errors"
	"slices"
	"sync"
)

// Clients are the open clients, one a cluster.
type Clients struct {
	mu     sync.Mutex
	open   map[string]*Client // by the caller's name of the cluster
	closed bool
}

// NewClients gives an empty set. The caller closes it.
func NewClients() *Clients { return &Clients{open: map[string]*Client{}} }

// Of gives the client of a cluster, made at the first call: no broker is asked yet. The cluster is named by something that no other
// cluster has, nor a later one of the same name: the UID of its object. Another bootstrap address than before replaces the client.
func (s *Clients) Of(cluster string, bootstrap ...string) (*Client, error) {
	s.mu.Lock()
	c, old, err := s.of(cluster, bootstrap)
	s.mu.Unlock()
	old.Close()
	return c, err
}

// of runs under the lock. The client that it replaces, if any, is for the caller to close.
func (s *Clients) of(cluster string, bootstrap []string) (c, replaced *Client, err error) {
	if s.closed {
		return nil, nil, errors.New("client of a cluster: the operator is stopping")
	}
	old := s.open[cluster]
	if old != nil && slices.Equal(old.bootstrap, bootstrap) {
		return old, nil, nil
	}
	c, err = New(bootstrap...)
	if err != nil {
		return nil, nil, err
	}
	s.open[cluster] = c
	return c, old, nil
}

// Drop closes the client of a cluster that goes, if there is one. Requests that run end with an error.
func (s *Clients) Drop(cluster string) {
	s.mu.Lock()
	c := s.open[cluster]
	delete(s.open, cluster)
	s.mu.Unlock()
	c.Close()
}

// Close closes all clients; none can be had afterwards.
func (s *Clients) Close() {
	s.mu.Lock()
	open := s.open
	s.open, s.closed = nil, true
	s.mu.Unlock()
	for _, c := range open {
		c.Close()
	}
}
