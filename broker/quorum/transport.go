package quorum

import "github.com/fairlead-io/fairlead/broker/kafka"

// Transport carries messages between nodes, one way. Send must not block; what it cannot send it drops. Options.Send is
// the Send of one.
type Transport interface {
	Send(to kafka.NodeID, m Message)
}
