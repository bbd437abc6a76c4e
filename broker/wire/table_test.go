package wire

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The table's flexible versions and ranges agree with kmsg, which is generated from Kafka's own definitions.
func TestTableAgreesWithKmsg(t *testing.T) {
	last := kmsg.Key(-1)
	for _, api := range APIs {
		if api.Key <= last {
			t.Errorf("key %d after %d: want ascending order", api.Key, last)
		}
		last = api.Key
		if got, ok := Lookup(api.Key); !ok || got != api {
			t.Errorf("Lookup(%d) = %v, %v, want %v", api.Key, got, ok, api)
		}
		if api.Served.Min > api.Served.Max || api.Advertised.Min > api.Advertised.Max {
			t.Errorf("%s: empty range %v or %v", api.Name, api.Served, api.Advertised)
		}
		req, ok := NewRequest(RequestHeader{Key: api.Key})
		if !ok {
			t.Fatalf("%s: no request type", api.Name)
		}
		if api.Served.Max > req.MaxVersion() {
			t.Errorf("%s: version %d is served, kmsg encodes up to %d", api.Name, api.Served.Max, req.MaxVersion())
		}
		for v := api.Served.Min; v <= api.Served.Max; v++ {
			req.SetVersion(v)
			resp := req.ResponseKind()
			resp.SetVersion(v)
			want := v >= api.FirstFlexible
			h := RequestHeader{Key: api.Key, Version: v}
			if req.IsFlexible() != want || resp.IsFlexible() != want || h.Flexible() != want {
				t.Errorf("%s version %d: flexible %v, %v, %v, want %v", api.Name, v, req.IsFlexible(), resp.IsFlexible(), h.Flexible(), want)
			}
		}
	}
}

// KAFKA-18659: Produce 0 to 2 is advertised for librdkafka's sake, and not served.
func TestProduceAdvertisedFromZeroServedFromThree(t *testing.T) {
	api, _ := Lookup(kmsg.Produce)
	if api.Advertised != (Range{0, 13}) || api.Served != (Range{3, 13}) {
		t.Errorf("Produce: advertised %v, served %v, want 0-13 and 3-13", api.Advertised, api.Served)
	}
	for _, api := range APIs {
		if api.Key != kmsg.Produce && api.Advertised != api.Served {
			t.Errorf("%s: advertised %v, served %v, want the same", api.Name, api.Advertised, api.Served)
		}
	}
}

func TestSetHoldsWhatWasAskedFor(t *testing.T) {
	s, err := NewSet(KeyRaft, kmsg.ApiVersions, kmsg.Produce, kmsg.AlterPartition)
	if err != nil {
		t.Fatal(err)
	}
	for _, api := range APIs {
		_, ok := s.Lookup(api.Key)
		want := api.Key == KeyRaft || api.Key == kmsg.ApiVersions || api.Key == kmsg.Produce || api.Key == kmsg.AlterPartition
		if ok != want {
			t.Errorf("%s in the set: %v, want %v", api.Name, ok, want)
		}
	}
	for _, key := range []kmsg.Key{-1, -32768, 4, 127, 128, 32767} {
		if _, ok := s.Lookup(key); ok {
			t.Errorf("key %d is in the set", key)
		}
	}
	// Internal APIs are not advertised.
	got := s.Advertised()
	if len(got) != 2 || got[0].ApiKey != 0 || got[0].MinVersion != 0 || got[0].MaxVersion != 13 || got[1].ApiKey != 18 {
		t.Errorf("advertised: %+v, want Produce 0-13 and ApiVersions", got)
	}
	for _, keys := range [][]kmsg.Key{{4}, {kmsg.Fetch, kmsg.Fetch}, {kmsg.Fetch, -1}} {
		if _, err := NewSet(keys...); err == nil {
			t.Errorf("NewSet(%v): no error", keys)
		}
	}
}
