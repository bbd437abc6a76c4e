package membership

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// registration makes the request to register. The previous epoch goes out until one succeeded: see rule 5.
func (m *Machine) registration() *kmsg.BrokerRegistrationRequest {
	r := m.o.Registration // a copy
	r.PreviousBrokerEpoch = m.previous
	return &r
}

// heartbeat makes the next heartbeat.
func (m *Machine) heartbeat() *kmsg.BrokerHeartbeatRequest {
	r := kmsg.NewPtrBrokerHeartbeatRequest()
	r.BrokerID, r.BrokerEpoch = m.o.Registration.BrokerID, int64(m.epoch)
	r.CurrentMetadataOffset = int64(m.image.Index)
	r.WantFence = !m.ready
	r.WantShutdown = m.phase == PhaseLeaving
	r.OfflineLogDirs = slices.Clone(m.offline)
	return r
}
