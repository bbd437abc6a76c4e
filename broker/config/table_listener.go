package config

// listenerRows are the broker settings of listeners.
var listenerRows = []Def{
	{Name: "advertised.listeners", Type: List,
		Doc: "Addresses that clients are told, as NAME://HOST:PORT; without it the client listeners themselves."},
	{Name: "controller.listener.names", Type: List,
		Doc: "Listeners among listeners that serve the metadata quorum; brokers talk to each other on the first one."},
	{Name: "early.start.listeners", Type: List, Meaning: Ignored,
		Doc: "Listeners that a Kafka broker opens before its authorizer is ready."},
	{Name: "inter.broker.listener.name", Type: String,
		Doc: "Listener on which brokers talk to each other when there is no controller listener."},
	{Name: "listener.security.protocol.map", Type: String, Default: text("SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"), Update: PerBroker, FileOnly: true,
		Doc: "Protocol of each listener name, as NAME:PROTOCOL."},
	{Name: "listeners", Type: List, Default: text("PLAINTEXT://:9092"), Update: PerBroker, FileOnly: true,
		Doc: "Addresses on which the broker listens, as NAME://HOST:PORT; an empty host is every interface."},
	{Name: "security.inter.broker.protocol", Type: String, Default: text("PLAINTEXT"), Valid: oneOf{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}, Meaning: Ignored,
		Doc: "Protocol between brokers in Kafka when no listener is named. Fairlead takes the listener's."},
	{Name: "socket.listen.backlog.size", Type: Int, Default: text("50"), Valid: atLeast(1),
		Doc: "Connections that may wait to be accepted."},
}
