package membership

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/wire"
)

// registration makes the request to register. The previous epoch goes out until one succeeded: see rule 5.
func (m *Machine) registration() *kmsg.BrokerRegistrationRequest {
	r := kmsg.NewPtrBrokerRegistrationRequest()
	r.BrokerID, r.ClusterID, r.IncarnationID = int32(m.o.Node), m.o.ClusterID, m.o.Incarnation
	r.LogDirs = [][16]byte{m.o.Directory}
	r.PreviousBrokerEpoch = int64(m.previous)
	if m.o.Rack != "" {
		r.Rack = kmsg.StringPtr(m.o.Rack)
	}
	for _, e := range m.o.Endpoints {
		l := kmsg.NewBrokerRegistrationRequestListener()
		l.Name, l.Host, l.Port, l.SecurityProtocol = e.Listener, e.Host, e.Port, int16(e.Protocol)
		r.Listeners = append(r.Listeners, l)
	}
	for _, f := range m.o.Features {
		rf := kmsg.NewBrokerRegistrationRequestFeature()
		rf.Name, rf.MinSupportedVersion, rf.MaxSupportedVersion = f.Name, f.Min, f.Max
		r.Features = append(r.Features, rf)
	}
	return r
}

// heartbeat makes the next heartbeat.
func (m *Machine) heartbeat() *kmsg.BrokerHeartbeatRequest {
	r := kmsg.NewPtrBrokerHeartbeatRequest()
	r.BrokerID, r.BrokerEpoch = int32(m.o.Node), int64(m.epoch)
	r.CurrentMetadataOffset = int64(m.image.Index)
	r.WantFence = !m.ready || m.blind
	r.WantShutdown = m.phase == PhaseLeaving
	r.OfflineLogDirs = slices.Clone(m.offline)
	if m.full {
		wire.SetDiskFull(r)
	}
	return r
}
