package server

import (
	"encoding/json"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fairlead-io/fairlead/broker/adminapi"
)

// adminHandler answers at the endpoint of metrics and health while there is a broker. See package adminapi.
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

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone: nobody to tell
}
