package metadata

import (
	"sync"
	"testing"
)

// TestEncodingWritesToNothing: records share their slices with images that others read. The race detector sees it.
func TestEncodingWritesToNothing(t *testing.T) {
	image := FromRecords(1, []Record{
		&ClusterRecord{ClusterID: "c"},
		&RegisterBroker{Broker: Broker{ID: 1, Endpoints: []Endpoint{{Listener: "A", Host: "h", Port: 9092}}, Features: []FeatureRange{{Name: "f", Max: 1}}}},
	})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for range 100 {
				EncodeRecords(nil, image.Records())
				if e, ok := image.Broker(1).Endpoint("A"); !ok || e.Port != 9092 {
					t.Error("the endpoint changed")
				}
			}
		})
	}
	readers.Wait()
}
