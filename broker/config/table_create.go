package config

// createRows are the broker settings of topics that come into being.
var createRows = []Def{
	{Name: "alter.config.policy.class.name", Type: Class, Meaning: Ignored,
		Doc: "Java class that may veto changes of settings. Fairlead loads no classes."},
	{Name: "auto.create.topics.enable", Type: Bool, Default: text("true"),
		Doc: "Whether a topic comes into being when a client asks for its metadata."},
	{Name: "create.topic.policy.class.name", Type: Class, Meaning: Ignored,
		Doc: "Java class that may veto new topics. Fairlead loads no classes."},
	{Name: "default.replication.factor", Type: Int, Default: text("1"),
		Doc: "Replicas of a topic whose creator left the number open."},
	{Name: "delete.topic.enable", Type: Bool, Default: text("true"),
		Doc: "Whether topics may be deleted."},
	{Name: "num.partitions", Type: Int, Default: text("1"), Valid: atLeast(1),
		Doc: "Partitions of a topic whose creator left the number open."},
}
