package catalogue

import "sync"

// Clusters are the catalogues that are kept, one a cluster.
type Clusters struct {
	mu     sync.Mutex
	open   map[string]*Cluster // by the caller's name of the cluster
	gone   map[string]bool     // dropped: a pass that began before may still ask
	closed bool
}

// NewClusters gives an empty set. The caller closes it.
func NewClusters() *Clusters { return &Clusters{open: map[string]*Cluster{}, gone: map[string]bool{}} }

// Of gives the catalogue of a cluster, made with the options at the first call. The cluster is named by something that no other has, nor
// a later one of the same name: the UID of its object. One that was dropped asks nobody any more.
func (s *Clusters) Of(cluster string, options func() Options) *Cluster {
	s.mu.Lock()
	c, gone := s.open[cluster], s.closed || s.gone[cluster]
	if c == nil {
		c = newCluster(options())
		if !gone {
			s.open[cluster] = c
		}
	}
	s.mu.Unlock()
	if gone {
		c.close()
	}
	return c
}

// Drop ends the catalogue of a cluster that goes, if there is one, and waits for what it does.
func (s *Clusters) Drop(cluster string) {
	s.mu.Lock()
	c := s.open[cluster]
	delete(s.open, cluster)
	s.gone[cluster] = true
	s.mu.Unlock()
	if c != nil {
		c.close()
	}
}

// Close ends all.
func (s *Clusters) Close() {
	s.mu.Lock()
	open := s.open
	s.open, s.closed = map[string]*Cluster{}, true
	s.mu.Unlock()
	for _, c := range open {
		c.close()
	}
}
