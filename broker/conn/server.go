package conn

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// Server accepts connections and serves them until Shutdown.
type Server struct {
	config    Config
	apis      *wire.Set
	handler   Handler
	slabs     slabPool
	inflight  *semaphore.Weighted // bytes of slabs of client listeners
	places    *places             // connections of client listeners
	sendfiles chan struct{}
	origin    time.Time // of the connections' clocks
	counters  counters

	// stopping ends when Shutdown begins, running when everything must end at once.
	stopping, running context.Context
	stop, kill        context.CancelFunc
	// goroutines counts accept loops, connections and the idle watch.
	goroutines sync.WaitGroup

	mu sync.Mutex
	// Guarded by mu:
	listeners   map[net.Listener]struct{}
	connections map[*connection]struct{}
	perIP       ipCount
	nextID      uint64
	watching    bool // the idle watch runs
}

// NewServer makes a server that serves the APIs of the set with the handler.
func NewServer(c Config, apis *wire.Set, h Handler) *Server {
	c = c.withDefaults()
	s := &Server{
		config: c, apis: apis, handler: h,
		slabs:     slabPool{poison: c.PoisonReleased},
		inflight:  semaphore.NewWeighted(c.MaxInflightBytes),
		places:    newPlaces(c.MaxConnections),
		sendfiles: make(chan struct{}, c.MaxConcurrentSendfiles),
		origin:    time.Now(),
		listeners: map[net.Listener]struct{}{}, connections: map[*connection]struct{}{},
		perIP: ipCount{limit: c.MaxConnectionsPerIP, overrides: c.ConnectionsPerIPOverrides},
	}
	s.running, s.kill = context.WithCancel(context.Background())
	s.stopping, s.stop = context.WithCancel(s.running)
	return s
}

// Limit changes [Config.MaxConnections] and [Config.MaxConnectionsPerIP]; zero leaves one as it is. Connections that are open stay.
func (s *Server) Limit(connections, perIP int) {
	if connections > 0 {
		s.places.setLimit(connections)
	}
	if perIP > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.perIP.limit = perIP
	}
}

// Limits are the two as they are now.
func (s *Server) Limits() (connections, perIP int) {
	connections = s.places.bound()
	s.mu.Lock()
	defer s.mu.Unlock()
	return connections, s.perIP.limit
}

// ErrServerClosed is what Serve returns after Shutdown.
var ErrServerClosed = errors.New("server closed")

// Serve accepts from the listener until Shutdown, and then returns ErrServerClosed. It closes the listener. Errors of
// accepting, such as no file descriptors left, are waited out; if the listener was closed by someone else, Serve returns that error.
func (s *Server) Serve(l Listener) error {
	s.mu.Lock()
	if s.stopping.Err() != nil {
		s.mu.Unlock()
		_ = l.Close()
		return ErrServerClosed
	}
	s.listeners[l.Listener] = struct{}{}
	s.goroutines.Add(1)
	if !s.watching {
		s.watching = true
		s.goroutines.Go(s.watchIdle)
	}
	s.mu.Unlock()
	defer s.goroutines.Done()
	err := s.accept(l)
	s.mu.Lock()
	delete(s.listeners, l.Listener)
	s.mu.Unlock()
	_ = l.Close()
	if s.stopping.Err() != nil {
		return ErrServerClosed
	}
	return err
}

// Shutdown stops accepting and reading, lets replies that are due be completed and written until the context ends, then
// closes what is left and waits for every goroutine. Its error is the context's if something had to be cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stop()
	for l := range s.listeners {
		_ = l.Close()
	}
	for c := range s.connections {
		c.stopReading()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.goroutines.Wait()
		close(done)
	}()
	select {
	case <-done:
		s.kill()
		return nil
	case <-ctx.Done():
	}
	s.kill()
	s.mu.Lock()
	for c := range s.connections {
		c.sever()
	}
	s.mu.Unlock()
	<-done
	return ctx.Err()
}
