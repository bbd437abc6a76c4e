package metadata

import (
	"slices"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Broker is one registration: a process with a data directory. It is immutable.
type Broker struct {
	ID          kafka.NodeID
	Epoch       kafka.BrokerEpoch // higher than that of every registration before it, of any broker
	Directory   kafka.DirectoryID
	Incarnation kafka.UUID // chosen by the process when it starts
	Rack        string     // "" when unknown
	Endpoints   []Endpoint // in the order in which the broker gave them
	Features    []FeatureRange
	// RegisteredAt is the index of the log entry that holds the registration: a broker whose image is at least as new knows
	// that it is registered and what was decided before.
	RegisteredAt uint64
	Fenced       bool // leads nothing, is in no set of replicas for clients; every registration starts fenced
	// ControlledShutdown is set from the moment a broker says that it wants to stop until it registers again.
	ControlledShutdown bool
	// DiskFull is set while the broker says that it has no space to append: it leads, and is in in-sync sets, only where nobody
	// else could. A new registration begins without it.
	DiskFull bool
}

// Eligible tells whether the broker may lead and be in in-sync sets.
func (b *Broker) Eligible() bool { return b != nil && !b.Fenced && !b.ControlledShutdown }

// TakesWrites tells whether it also has space: only then it may join in-sync sets, and it goes before others that have not.
func (b *Broker) TakesWrites() bool { return b.Eligible() && !b.DiskFull }

// Endpoint is one address that a broker advertises.
type Endpoint struct {
	Listener string
	Host     string
	Port     uint16
	Protocol SecurityProtocol
}

// SecurityProtocol is Kafka's number of a listener's protocol.
type SecurityProtocol int16

const (
	Plaintext     SecurityProtocol = 0
	SSL           SecurityProtocol = 1
	SASLPlaintext SecurityProtocol = 2
	SASLSSL       SecurityProtocol = 3
)

var securityProtocolNames = [...]string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

func (p SecurityProtocol) String() string {
	if p < 0 || int(p) >= len(securityProtocolNames) {
		return "UNKNOWN"
	}
	return securityProtocolNames[p]
}

// FeatureRange is the levels of one feature that a broker's binary can run.
type FeatureRange struct {
	Name     string
	Min, Max int16
}

// Endpoint is the address that the broker advertises for a listener.
func (b *Broker) Endpoint(listener string) (Endpoint, bool) {
	for _, e := range b.Endpoints {
		if e.Listener == listener {
			return e, true
		}
	}
	return Endpoint{}, false
}

func (b *Broker) equal(c *Broker) bool {
	if b == nil || c == nil {
		return b == c
	}
	return b.ID == c.ID && b.Epoch == c.Epoch && b.Directory == c.Directory && b.Incarnation == c.Incarnation && b.Rack == c.Rack &&
		b.RegisteredAt == c.RegisteredAt && b.Fenced == c.Fenced && b.ControlledShutdown == c.ControlledShutdown && b.DiskFull == c.DiskFull &&
		slices.Equal(b.Endpoints, c.Endpoints) && slices.Equal(b.Features, c.Features)
}
