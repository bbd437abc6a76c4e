package server

import "github.com/prometheus/client_golang/prometheus"

// collector gives the table of metrics to Prometheus.
type collector struct {
	server *Server
	descs  []*prometheus.Desc // by row of the table
}

func newCollector(s *Server) *collector {
	c := &collector{server: s}
	for _, m := range metrics {
		var labels []string
		if m.label != "" {
			labels = []string{m.label}
		}
		c.descs = append(c.descs, prometheus.NewDesc(m.name, m.help, labels, nil))
	}
	return c
}

// Describe is prometheus.Collector's.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect is prometheus.Collector's.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	now := c.server.scrape()
	for i, m := range metrics {
		desc, kind := c.descs[i], prometheus.GaugeValue
		if m.kind == counter {
			kind = prometheus.CounterValue
		}
		switch {
		case m.value != nil:
			out <- prometheus.MustNewConstMetric(desc, kind, m.value(now))
		case m.values != nil:
			m.values(now, func(v float64, label string) { out <- prometheus.MustNewConstMetric(desc, kind, v, label) })
		default:
			m.times(now, func(h histogram, label string) {
				out <- prometheus.MustNewConstHistogram(desc, h.count, h.sum, h.buckets, label)
			})
		}
	}
}
