package server

import (
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/conn"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/replica"
	"github.com/fairlead-io/fairlead/broker/wire"
)

// metric is one row of the table of metrics: docs/operations/metrics.md is made from it.
type metric struct {
	name, help string
	kind       prometheus.ValueType
	label      string // "" for none
	read       func(s *Server, add func(value float64, label string))
}

// one is the reader of a metric without label.
func one(read func(s *Server) float64) func(*Server, func(float64, string)) {
	return func(s *Server, add func(float64, string)) { add(read(s), "") }
}

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

// metrics is every metric of a broker. Labels are bounded: APIs, listeners.
var metrics = []metric{
	{"fairlead_broker_serving", "1 while the broker is registered, not fenced, and reaches the quorum.", gauge, "", one(func(s *Server) float64 { return flag(s.members.state.serves.Load()) })},
	{"fairlead_quorum_leader", "1 on the broker that leads the metadata quorum.", gauge, "", one(func(s *Server) float64 { return flag(s.quorum.Status().Leading) })},
	{"fairlead_quorum_epoch", "Raft term of the metadata quorum as this broker knows it.", gauge, "", one(func(s *Server) float64 { return float64(s.quorum.Status().Epoch) })},
	{"fairlead_metadata_version", "Index of the last metadata log entry in this broker's image.", counter, "", one(func(s *Server) float64 { return float64(s.images.Current().Version()) })},
	{"fairlead_partitions", "Replicas on this broker.", gauge, "", one(func(s *Server) float64 { return float64(s.count(func(replica.Role, int, int) bool { return true })) })},
	{"fairlead_partitions_led", "Partitions that this broker leads.", gauge, "", one(func(s *Server) float64 {
		return float64(s.count(func(r replica.Role, _, _ int) bool { return r == replica.Leader }))
	})},
	{"fairlead_partitions_under_replicated", "Partitions led here whose in-sync set is smaller than the replica set.", gauge, "", one(func(s *Server) float64 {
		return float64(s.count(func(r replica.Role, isr, replicas int) bool { return r == replica.Leader && isr < replicas }))
	})},
	{"fairlead_partitions_leaderless", "Partitions of the cluster without a leader.", gauge, "", one(leaderless)},
	{"fairlead_log_bytes", "Bytes of all logs on this broker.", gauge, "", one(logBytes)},
	{"fairlead_disk_full", "1 while writes are refused for lack of disk space.", gauge, "", one(func(s *Server) float64 { return flag(s.partitions.Full()) })},
	{"fairlead_log_directory_offline", "1 when the data directory failed.", gauge, "", one(func(s *Server) float64 { return flag(s.partitions.Failure() != nil) })},
	{"fairlead_requests_total", "Requests by API.", counter, "api", func(s *Server, add func(float64, string)) { s.requests.each(add) }},
	{"fairlead_connections", "Open connections.", gauge, "listener", connStats(func(c conn.Stats) float64 { return float64(c.Open) })},
	{"fairlead_connections_accepted_total", "Connections accepted.", counter, "listener", connStats(func(c conn.Stats) float64 { return float64(c.Accepted) })},
	{"fairlead_connections_rejected_total", "Connections ended because of what came over them: oversize, unknown or malformed requests.", counter, "listener",
		connStats(func(c conn.Stats) float64 { return float64(c.ClosedOversize + c.ClosedRejected + c.ClosedByHandler) })},
	{"fairlead_request_bytes_in_flight", "Bytes of requests that are read and not yet answered.", gauge, "listener", connStats(func(c conn.Stats) float64 { return float64(c.InflightBytes) })},
	{"fairlead_bytes_read_total", "Bytes read from connections.", counter, "listener", connStats(func(c conn.Stats) float64 { return float64(c.BytesRead) })},
	{"fairlead_bytes_written_total", "Bytes written to connections.", counter, "listener", connStats(func(c conn.Stats) float64 { return float64(c.BytesWritten) })},
	{"fairlead_bytes_sendfile_total", "Of the bytes written, those that went from the page cache to the socket without a copy.", counter, "listener", connStats(func(c conn.Stats) float64 { return float64(c.BytesSendfile) })},
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func connStats(read func(conn.Stats) float64) func(*Server, func(float64, string)) {
	return func(s *Server, add func(float64, string)) {
		add(read(s.clientServer.Stats()), "client")
		add(read(s.internalServer.Stats()), "internal")
	}
}

// count counts the replicas here by role, size of the in-sync set, size of the replica set.
func (s *Server) count(matches func(role replica.Role, isr, replicas int) bool) int {
	image, n := s.images.Current(), 0
	for _, p := range s.partitions.All() {
		d := p.Describe()
		replicas := len(d.ISR)
		if state := image.Partition(p.ID()); state != nil {
			replicas = len(state.Replicas)
		}
		if matches(d.Role, len(d.ISR), replicas) {
			n++
		}
	}
	return n
}

func leaderless(s *Server) float64 {
	n := 0
	for t := range s.images.Current().Topics() {
		for _, p := range t.Partitions() {
			if p.Leader == kafka.NoNode {
				n++
			}
		}
	}
	return float64(n)
}

func logBytes(s *Server) float64 {
	var n int64
	for _, p := range s.partitions.All() {
		n += p.Describe().SizeBytes
	}
	return float64(n)
}

// collector gives the table to Prometheus.
type collector struct {
	server *Server
	descs  []*prometheus.Desc
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
	for i, m := range metrics {
		m.read(c.server, func(value float64, label string) {
			if m.label == "" {
				out <- prometheus.MustNewConstMetric(c.descs[i], m.kind, value)
				return
			}
			out <- prometheus.MustNewConstMetric(c.descs[i], m.kind, value, label)
		})
	}
}

// requestCounts counts requests by API on their way to the handler.
type requestCounts struct {
	counts [128]atomic.Uint64 // by key; private keys are not counted
}

func (r *requestCounts) each(add func(float64, string)) {
	for key := range r.counts {
		n := r.counts[key].Load()
		if api, ok := wire.Lookup(kmsg.Key(key)); ok && n > 0 {
			add(float64(n), api.Name)
		}
	}
}

// counted is a handler whose requests are counted.
type counted struct {
	conn.Handler
	counts *requestCounts
}

// Handle counts and passes on.
func (c counted) Handle(r *conn.Request) *conn.Reply {
	if k := int(r.Header.Key); k >= 0 && k < len(c.counts.counts) {
		c.counts.counts[k].Add(1)
	}
	return c.Handler.Handle(r)
}

// nodeText is a node id for a log line.
func nodeText(n kafka.NodeID) string { return strconv.Itoa(int(n)) }
