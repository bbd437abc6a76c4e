package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/fairlead-io/fairlead/broker/adminapi"
)

// adminReadLimit bounds the reading of one admin request.
const adminReadLimit = 5 * time.Second

// Endpoint is the HTTP endpoint of metrics and health. It answers from before there is a broker, so that a process that waits for something,
// or for its data directory, is seen to be alive.
type Endpoint struct {
	listener net.Listener
	server   *http.Server
	handler  atomic.Pointer[http.Handler]
	ended    chan struct{}
}

// OpenEndpoint listens and answers what r says, until a broker takes the endpoint over; see [Options]. The caller closes it.
func OpenEndpoint(address string, r func() adminapi.Readiness, log logr.Logger) (*Endpoint, error) {
	l, err := listen(address)
	if err != nil {
		return nil, fmt.Errorf("admin endpoint: %w", err)
	}
	e := &Endpoint{listener: l, ended: make(chan struct{})}
	e.answer(startingHandler(r))
	e.server = &http.Server{ReadTimeout: adminReadLimit, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*e.handler.Load()).ServeHTTP(w, r)
	})}
	go func() {
		defer close(e.ended)
		if err := e.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error(err, "admin endpoint ended")
		}
	}()
	return e, nil
}

// startingHandler is for the time without a broker: alive, not ready, and nothing else to tell.
func startingHandler(r func() adminapi.Readiness) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, adminapi.Health{Healthy: true})
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusServiceUnavailable, r()) })
	return mux
}

// answer has h answer from now on.
func (e *Endpoint) answer(h http.Handler) { e.handler.Store(&h) }

// Addr is where it listens.
func (e *Endpoint) Addr() net.Addr { return e.listener.Addr() }

// Close ends it at once. It may be called again, and of no endpoint it does nothing.
func (e *Endpoint) Close() {
	if e == nil {
		return
	}
	_ = e.server.Close()
	<-e.ended
}
