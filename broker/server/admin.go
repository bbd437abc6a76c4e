package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fairlead-io/fairlead/broker/adminapi"
)

// adminReadLimit bounds the reading of one admin request.
const adminReadLimit = 5 * time.Second

// adminHandler is the HTTP endpoint of metrics and health. See package adminapi.
func (s *Server) adminHandler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(s), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		reason := s.stuck(s.clock.Elapsed())
		status := http.StatusOK
		if reason != "" {
			status = http.StatusServiceUnavailable
		}
		writeJSON(w, status, adminapi.Health{Healthy: reason == "", Reason: reason})
	})
	mux.HandleFunc("GET /safe-to-stop", s.answerSafeToStop)
	mux.HandleFunc("GET /load", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, s.load()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		r := s.readiness()
		status := http.StatusOK
		if !r.Ready {
			status = http.StatusServiceUnavailable
		}
		writeJSON(w, status, r)
	})
	return mux
}

func (s *Server) serveAdmin() {
	if err := s.admin.Serve(s.adminListener); !errors.Is(err, http.ErrServerClosed) {
		s.log.Error(err, "admin endpoint ended")
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone: nobody to tell
}

// readiness says how far the broker is. Since is when the process saw the phase begin; a phase that nobody asked about has no time.
func (s *Server) readiness() adminapi.Readiness {
	p := s.partitions.Progress()
	r := adminapi.Readiness{
		NodeID: int32(s.node), ClusterID: s.meta.ClusterID, Recovery: adminapi.Progress{Done: int64(p.Opened), Total: int64(p.Total)},
	}
	b := s.images.Current().Broker(s.node)
	switch {
	case s.running.Err() != nil || b != nil && b.Incarnation == s.incarnation && b.ControlledShutdown:
		r.Phase = adminapi.Stopping
	case p.Opened < p.Total:
		r.Phase, r.Reason = adminapi.Recovering, "opening logs"
	case b == nil || b.Incarnation != s.incarnation:
		r.Phase, r.Reason = adminapi.Joining, "not registered yet"
	case b.Fenced:
		r.Phase, r.Reason = adminapi.CatchingUp, "fenced until its metadata is current"
	case !s.members.state.serves.Load():
		r.Phase, r.Reason = adminapi.OutOfQuorum, "the metadata quorum cannot be reached"
	default:
		r.Phase, r.Ready = adminapi.Serving, true
	}
	r.Since, r.Recovery.MovedAt = s.phases.since(r.Phase, r.Recovery.Done, s.clock.Wall())
	return r
}
