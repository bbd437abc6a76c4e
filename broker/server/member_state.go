package server

import (
	"sync/atomic"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// memberState is what other goroutines may know of the membership.
type memberState struct {
	serves atomic.Bool
	epoch  atomic.Int64 // one above the broker epoch, so that the zero value means none
}

func (m *memberState) setEpoch(e kafka.BrokerEpoch) { m.epoch.Store(int64(e) + 1) }
func (m *memberState) brokerEpoch() kafka.BrokerEpoch {
	return kafka.BrokerEpoch(m.epoch.Load() - 1)
}
