package wire

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Any bytes as a frame: a header, or a rejection; the body is what is left of the frame; any body decodes or is refused,
// without a panic.
func FuzzParseRequest(f *testing.F) {
	s := everything(f)
	for _, api := range APIs {
		req, _ := NewRequest(RequestHeader{Key: api.Key, Version: api.Served.Max})
		f.Add(AppendRequest(nil, "client", 1, req)[4:])
	}
	f.Add([]byte{0, 3, 0, 9, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0})
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, body, err := s.ParseRequest(frame, Internal, "client")
		if err != nil {
			if _, ok := err.(*Rejection); !ok || body != nil {
				t.Fatalf("error %v with a body of %d bytes", err, len(body))
			}
			return
		}
		if !bytes.HasSuffix(frame, body) {
			t.Fatal("the body is not the end of the frame")
		}
		req, ok := NewRequest(h)
		if !ok {
			t.Fatalf("parsed key %d has no request type", h.Key)
		}
		// What kmsg decodes in a recover, it must decode without one.
		if err := req.ReadFrom(body); err != nil {
			return
		}
		again, _ := NewRequest(h)
		if err := again.ReadFrom(req.AppendTo(nil)); err != nil {
			t.Fatalf("%s version %d: encoded again it does not decode: %v", h.Key.Name(), h.Version, err)
		}
	})
}

// Any bytes as a response's body, for the versions that peers send.
func FuzzDecodeResponse(f *testing.F) {
	f.Add(int16(1), int16(18), kmsg.NewPtrFetchResponse().AppendTo(nil))
	f.Add(int16(63), int16(2), kmsg.NewPtrBrokerHeartbeatResponse().AppendTo(nil))
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		req, ok := NewRequest(RequestHeader{Key: kmsg.Key(key), Version: version})
		if !ok || version < 0 || version > req.MaxVersion() {
			return
		}
		resp := req.ResponseKind()
		_ = resp.ReadFrom(body)
	})
}
