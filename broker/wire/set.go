package wire

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Set is the APIs that a broker has handlers for. It is immutable.
type Set struct {
	apis []API // in the order of the table
	// index is the place in apis plus one by key, for Kafka's small keys; 0 means absent.
	index [128]uint8
}

// NewSet makes the set of the APIs with these keys. A key that the table does not have, or one named twice, is a
// mistake of the caller.
func NewSet(keys ...kmsg.Key) (*Set, error) {
	s := &Set{}
	for _, api := range APIs {
		if !slices.Contains(keys, api.Key) {
			continue
		}
		s.apis = append(s.apis, api)
		if int(api.Key) < len(s.index) {
			s.index[api.Key] = uint8(len(s.apis))
		}
	}
	if len(s.apis) != len(keys) {
		for i, key := range keys {
			if _, ok := Lookup(key); !ok || slices.Contains(keys[:i], key) {
				return nil, fmt.Errorf("make set of APIs: key %d is unknown or doubled", key)
			}
		}
	}
	return s, nil
}

// Lookup finds an API of the set.
func (s *Set) Lookup(key kmsg.Key) (API, bool) {
	if key >= 0 && int(key) < len(s.index) {
		if i := s.index[key]; i > 0 {
			return s.apis[i-1], true
		}
		return API{}, false
	}
	for i := len(s.apis) - 1; i >= 0; i-- { // the private keys are at the end
		if s.apis[i].Key == key {
			return s.apis[i], true
		}
	}
	return API{}, false
}

// APIs are the members in the order of keys. The caller must not change the slice.
func (s *Set) APIs() []API { return s.apis }

// Advertised is what ApiVersions tells a client: every member that is served everywhere, in the order of keys.
func (s *Set) Advertised() []kmsg.ApiVersionsResponseApiKey {
	var keys []kmsg.ApiVersionsResponseApiKey
	for _, api := range s.apis {
		if api.Scope != Everywhere {
			continue
		}
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = api.Key.Int16(), api.Advertised.Min, api.Advertised.Max
		keys = append(keys, k)
	}
	return keys
}
