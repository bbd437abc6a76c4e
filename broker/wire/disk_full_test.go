package wire

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDiskFullSurvivesTheWire(t *testing.T) {
	for _, full := range []bool{false, true} {
		for version := range kmsg.NewPtrBrokerHeartbeatRequest().MaxVersion() + 1 {
			r := kmsg.NewPtrBrokerHeartbeatRequest()
			r.Version, r.BrokerID, r.WantShutdown = version, 3, true
			if full {
				SetDiskFull(r)
			}
			got := kmsg.NewPtrBrokerHeartbeatRequest()
			got.Version = version
			if err := got.ReadFrom(r.AppendTo(nil)); err != nil || DiskFull(got) != full || got.BrokerID != 3 || !got.WantShutdown {
				t.Errorf("version %d, full %v: read %+v, %v", version, full, got, err)
			}
		}
	}
}
