package server

import "github.com/fairlead-io/fairlead/broker/conn"

// kind is what a metric is to Prometheus.
type kind string

const (
	gauge   kind = "gauge"
	counter kind = "counter"
	timing  kind = "histogram"
)

// metric is one row of the table of metrics: docs/operations/metrics.md is made from it.
type metric struct {
	name, help string
	kind       kind
	label      string // "" for none
	// One of these reads it: a value, values by label, histograms by label.
	value  func(c *scrape) float64
	values func(c *scrape, add func(value float64, label string))
	times  func(c *scrape, add func(h histogram, label string))
}

// metrics is every metric of a broker. Labels are bounded: APIs, listeners.
var metrics = []metric{
	{name: "fairlead_broker_serving", kind: gauge, help: "1 while the broker is registered, not fenced, and reaches the quorum.",
		value: func(c *scrape) float64 { return oneIf(c.server.members.state.serves.Load()) }},
	{name: "fairlead_quorum_leader", kind: gauge, help: "1 on the broker that leads the metadata quorum.",
		value: func(c *scrape) float64 { return oneIf(c.quorum.Leading) }},
	{name: "fairlead_quorum_epoch", kind: gauge, help: "Raft term of the metadata quorum as this broker knows it: elections make it grow.",
		value: func(c *scrape) float64 { return float64(c.quorum.Epoch) }},
	{name: "fairlead_metadata_version", kind: counter, help: "Index of the last metadata log entry in this broker's image.",
		value: func(c *scrape) float64 { return float64(c.image.Version()) }},

	{name: "fairlead_partitions", kind: gauge, help: "Replicas on this broker.", value: func(c *scrape) float64 { return float64(c.replicas) }},
	{name: "fairlead_partitions_led", kind: gauge, help: "Partitions that this broker leads.", value: func(c *scrape) float64 { return float64(c.led) }},
	{name: "fairlead_partitions_under_replicated", kind: gauge, help: "Partitions led here whose in-sync set is smaller than the replica set.",
		value: func(c *scrape) float64 { return float64(c.underReplicated) }},
	{name: "fairlead_partitions_below_min_isr", kind: gauge, help: "Partitions led here with fewer in-sync replicas than min.insync.replicas: acks=all is refused.",
		value: func(c *scrape) float64 { return float64(c.belowMinISR) }},
	{name: "fairlead_partitions_leaderless", kind: gauge, help: "Partitions of the cluster without a leader, as this broker knows it.",
		value: func(c *scrape) float64 { return float64(c.leaderless) }},
	{name: "fairlead_partition_elections_total", kind: counter, help: "Times that this broker was elected to lead a partition.",
		value: func(c *scrape) float64 { return float64(c.server.partitionCounts.elections.Load()) }},
	{name: "fairlead_isr_shrinks_total", kind: counter, help: "Times that the in-sync set of a partition led here lost members.",
		value: func(c *scrape) float64 { return float64(c.server.partitionCounts.isrShrinks.Load()) }},
	{name: "fairlead_isr_expands_total", kind: counter, help: "Times that the in-sync set of a partition led here won members.",
		value: func(c *scrape) float64 { return float64(c.server.partitionCounts.isrExpands.Load()) }},
	{name: "fairlead_produces_waiting", kind: gauge, help: "Produces with acks=all that wait for followers.",
		value: func(c *scrape) float64 { return float64(c.waitingProduces) }},

	{name: "fairlead_log_bytes", kind: gauge, help: "Bytes of all logs on this broker.", value: func(c *scrape) float64 { return float64(c.logBytes) }},
	{name: "fairlead_log_unflushed_bytes", kind: gauge, help: "Bytes appended and not known to be on the disk: what a power failure may take from this replica.",
		value: func(c *scrape) float64 { return float64(c.unflushedBytes) }},
	{name: "fairlead_disk_full", kind: gauge, help: "1 while writes are refused for lack of disk space.",
		value: func(c *scrape) float64 { return oneIf(c.server.partitions.Full()) }},
	{name: "fairlead_log_damage_total", kind: counter, help: "Reads and writes that met damaged batches: the log says which partition and file. Replace the replica.",
		value: func(c *scrape) float64 { return c.server.damage.total() }},
	{name: "fairlead_logs_failed", kind: gauge,
		help:  "Replicas that serve nothing because their folder is gone or cannot be read: the log says why. Repair or remove the folder, and start the broker again.",
		value: func(c *scrape) float64 { return float64(len(c.server.partitions.FailedLogs())) }},
	{name: "fairlead_log_directory_offline", kind: gauge, help: "1 when the data directory failed.",
		value: func(c *scrape) float64 { return oneIf(c.server.partitions.Failure() != nil) }},

	{name: "fairlead_groups", kind: gauge, help: "Consumer groups that this broker coordinates.", value: func(c *scrape) float64 { return float64(c.groups) }},
	{name: "fairlead_group_partitions_loading", kind: gauge, help: "Partitions of __consumer_offsets that are being loaded: their groups wait.",
		value: func(c *scrape) float64 { return float64(c.shardsLoading) }},

	{name: "fairlead_request_duration_seconds", kind: timing, label: "api",
		help:  "From the last byte of a request to its complete answer, by API. Fetches include the time for which they wait for records.",
		times: func(c *scrape, add func(histogram, string)) { c.server.requests.each(add) }},
	{name: "fairlead_connections", kind: gauge, label: "listener", help: "Open connections.",
		values: connStats(func(s conn.Stats) float64 { return float64(s.Open) })},
	{name: "fairlead_connections_accepted_total", kind: counter, label: "listener", help: "Connections accepted.",
		values: connStats(func(s conn.Stats) float64 { return float64(s.Accepted) })},
	{name: "fairlead_connections_rejected_total", kind: counter, label: "listener",
		help:   "Connections ended because of what came over them: oversize, unknown or malformed requests.",
		values: connStats(func(s conn.Stats) float64 { return float64(s.ClosedOversize + s.ClosedRejected + s.ClosedByHandler) })},
	{name: "fairlead_connections_refused_total", kind: counter, label: "listener", help: "Connections refused because their address has too many.",
		values: connStats(func(s conn.Stats) float64 { return float64(s.RefusedPerIP) })},
	{name: "fairlead_request_bytes_in_flight", kind: gauge, label: "listener", help: "Bytes of requests that are read and not yet answered.",
		values: connStats(func(s conn.Stats) float64 { return float64(s.InflightBytes) })},
	{name: "fairlead_bytes_read_total", kind: counter, label: "listener", help: "Bytes read from connections.",
		values: connStats(func(s conn.Stats) float64 { return float64(s.BytesRead) })},
	{name: "fairlead_bytes_written_total", kind: counter, label: "listener", help: "Bytes written to connections.",
		values: connStats(func(s conn.Stats) float64 { return float64(s.BytesWritten) })},
	{name: "fairlead_bytes_sendfile_total", kind: counter, label: "listener",
		help:   "Of the bytes written, those that went from the page cache to the socket without a copy.",
		values: connStats(func(s conn.Stats) float64 { return float64(s.BytesSendfile) })},
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func connStats(read func(conn.Stats) float64) func(*scrape, func(float64, string)) {
	return func(c *scrape, add func(float64, string)) {
		add(read(c.clients), "client")
		add(read(c.internal), "internal")
	}
}
