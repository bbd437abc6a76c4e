package config

// otherRows are the broker settings of quotas, metrics and plug-ins.
var otherRows = []Def{
	{Name: "background.threads", Type: Int, Default: text("10"), Valid: atLeast(1), Update: ClusterWide, Meaning: Ignored,
		Doc: "Threads for background work in Kafka. Fairlead needs no number."},
	{Name: "client.quota.callback.class", Type: Class, Meaning: Ignored,
		Doc: "Java class that computes quotas. Fairlead loads no classes."},
	{Name: "config.providers", Type: List, Default: text(""), Update: ClusterWide, Meaning: Ignored,
		Doc: "Java classes that look up values of settings. Fairlead loads no classes."},
	{Name: "kafka.metrics.polling.interval.secs", Type: Int, Default: text("10"), Valid: atLeast(1), Meaning: Ignored,
		Doc: "Time between two readings of Kafka's own metrics reporters."},
	{Name: "kafka.metrics.reporters", Type: List, Default: text(""), Meaning: Ignored,
		Doc: "Java classes that report metrics. Fairlead's metrics are read over HTTP."},
	{Name: "metric.reporters", Type: List, Default: text("org.apache.kafka.common.metrics.JmxReporter"), Update: ClusterWide, Meaning: Ignored,
		Doc: "Java classes that report metrics. Fairlead's metrics are read over HTTP."},
	{Name: "metrics.num.samples", Type: Int, Default: text("2"), Valid: atLeast(1), Meaning: Ignored,
		Doc: "Samples kept for Kafka's rates. Fairlead's metrics are counters."},
	{Name: "metrics.recording.level", Type: String, Default: text("INFO"), Meaning: Ignored,
		Doc: "Level of detail of Kafka's metrics."},
	{Name: "metrics.sample.window.ms", Type: Long, Default: text("30000"), Valid: atLeast(1), Meaning: Ignored,
		Doc: "Length of a sample of Kafka's rates. Fairlead's metrics are counters."},
	{Name: "quota.window.num", Type: Int, Default: text("11"), Valid: atLeast(1), Meaning: Ignored,
		Doc: "Samples kept to measure clients for quotas."},
	{Name: "quota.window.size.seconds", Type: Int, Default: text("1"), Valid: atLeast(1), Meaning: Ignored,
		Doc: "Length of a sample of clients for quotas."},
	{Name: "telemetry.max.bytes", Type: Int, Default: text("1048576"), Valid: atLeast(1), Meaning: Ignored,
		Doc: "Largest report of metrics that a client may push."},
}
