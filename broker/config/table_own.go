package config

// ownRows are broker settings that Kafka keeps outside its own table, and Fairlead's, which begin with "fairlead.".
var ownRows = []Def{
	{Name: "leader.replication.throttled.rate", Type: Long, Valid: atLeast(0), Update: PerBroker,
		Internal: true,
		Doc:      "Bytes per second that a leader sends to throttled followers."},
	{Name: "follower.replication.throttled.rate", Type: Long, Valid: atLeast(0), Update: PerBroker,
		Internal: true,
		Doc:      "Bytes per second that throttled followers take in."},
	{Name: "replica.alter.log.dirs.io.max.bytes.per.second", Type: Long, Valid: atLeast(0), Update: PerBroker,
		Meaning: Ignored, Internal: true,
		Doc: "Bytes per second of moves between directories of one broker. A Fairlead broker has one directory."},
	{Name: "fairlead.admin.address", Type: String, Default: text(""),
		Doc: "HOST:PORT of the HTTP endpoint with metrics and health. Without it there is none."},
	{Name: "fairlead.disk.reserve.bytes", Type: Long, Default: text("67108864"), Valid: atLeast(0),
		Doc: "Free bytes of the file system below which the broker refuses writes, at most a twentieth of its size. Reads, retention and deletes go on."},
	{Name: "fairlead.shutdown.drain.ms", Type: Int, Default: text("5500"), Valid: atLeast(0), Update: ClusterWide,
		Doc: "Time for which a broker that was told to stop, and whose leaderships are with others, goes on answering clients, so that they learn of the new leaders by an answer. It ends early when no client is connected or no other broker is in service. More than the age up to which clients take their metadata for current (5 s by default) spares them refused connections; 0 is none."},
}
