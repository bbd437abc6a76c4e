package wire

import (
	"bytes"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

func everything(t testing.TB) *Set {
	var keys []kmsg.Key
	for _, api := range APIs {
		keys = append(keys, api.Key)
	}
	s, err := NewSet(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every API at every served version: what kmsg formats, we parse.
func TestParseRequestReadsWhatKmsgFormats(t *testing.T) {
	s := everything(t)
	for _, api := range APIs {
		for v := api.Served.Min; v <= api.Served.Max; v++ {
			for _, id := range []*string{nil, kmsg.StringPtr(""), kmsg.StringPtr("a client")} {
				req, _ := NewRequest(RequestHeader{Key: api.Key, Version: v})
				format := kmsg.NewRequestFormatter()
				want := RequestHeader{Key: api.Key, Version: v, CorrelationID: -7}
				if id != nil {
					format = kmsg.NewRequestFormatter(kmsg.FormatterClientID(*id))
					want.ClientID = *id
				}
				frame := format.AppendRequest(nil, req, -7)
				h, body, err := s.ParseRequest(frame[4:], Internal, "a client")
				if err != nil || h != want || !bytes.Equal(body, req.AppendTo(nil)) {
					t.Fatalf("%s version %d: header %+v, error %v, want %+v; body % x", api.Name, v, h, err, want, body)
				}
				if id != nil && !bytes.Equal(frame, AppendRequest(nil, *id, -7, req)) {
					t.Fatalf("%s version %d: AppendRequest differs from kmsg", api.Name, v)
				}
				if id != nil && !bytes.Equal(frame, AppendRawRequest(nil, want, body)) {
					t.Fatalf("%s version %d: AppendRawRequest differs from kmsg", api.Name, v)
				}
				decoded, err := DecodeRequest(h, body)
				if err != nil || !bytes.Equal(decoded.AppendTo(nil), body) {
					t.Fatalf("%s version %d: decode: %v", api.Name, v, err)
				}
			}
		}
	}
}

func TestParseRequestRejects(t *testing.T) {
	s, _ := NewSet(kmsg.Produce, kmsg.Fetch, kmsg.Metadata, kmsg.ApiVersions, kmsg.AlterPartition, KeyRaft)
	short := []byte{0, 3, 0, 1, 0, 0, 0, 9, 0xff, 0xff}
	header := func(key kmsg.Key, version int16, rest ...byte) []byte {
		return append([]byte{byte(key >> 8), byte(key), byte(version >> 8), byte(version), 0, 0, 0, 9}, rest...)
	}
	null := []byte{0xff, 0xff}
	for _, c := range []struct {
		name     string
		frame    []byte
		listener Scope
		want     Reason // 0: accepted
	}{
		{"a header of version 1 alone", short, Everywhere, 0},
		{"no bytes", nil, Everywhere, Malformed},
		{"seven bytes", short[:7], Everywhere, Malformed},
		{"no client id", short[:8], Everywhere, Malformed},
		{"half of the client id's length", short[:9], Everywhere, Malformed},
		{"a client id longer than the frame", header(3, 1, 0, 5, 'a'), Everywhere, Malformed},
		{"a client id of length -2", header(3, 1, 0xff, 0xfe), Everywhere, Malformed},
		{"tags missing in a flexible header", header(3, 9, null...), Everywhere, Malformed},
		{"more tags than bytes", header(3, 9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f), Everywhere, Malformed},
		{"a tag longer than the frame", header(3, 9, 0xff, 0xff, 1, 0, 200), Everywhere, Malformed},
		{"a tag that is skipped", header(3, 9, 0xff, 0xff, 1, 0, 1, 77), Everywhere, 0},
		{"a key that does not exist", header(12345, 0, null...), Everywhere, UnknownKey},
		{"a key that is gone", header(6, 8, null...), Everywhere, UnknownKey},
		{"a negative key", header(-1, 0, null...), Everywhere, UnknownKey},
		{"a key without handler", header(2, 1, null...), Everywhere, UnknownKey},
		{"an internal API on a client listener", header(56, 2, append(null, 0)...), Everywhere, UnknownKey},
		{"an internal API on the internal listener", header(56, 2, append(null, 0)...), Internal, 0},
		{"a private key on a client listener", header(KeyRaft, 0, append(null, 0)...), Everywhere, UnknownKey},
		{"a private key on the internal listener", header(KeyRaft, 0, append(null, 0)...), Internal, 0},
		{"a version too high", header(3, 99, null...), Everywhere, UnknownVersion},
		{"a negative version", header(3, -1, null...), Everywhere, UnknownVersion},
		{"Produce 2, which is advertised", header(0, 2, null...), Everywhere, UnknownVersion},
		{"Fetch 3", header(1, 3, null...), Everywhere, UnknownVersion},
		{"ApiVersions of a later time", header(18, 99, null...), Everywhere, UnknownApiVersions},
		{"ApiVersions of a later time, cut off", header(18, 32767), Everywhere, UnknownApiVersions},
		{"ApiVersions of a negative version", header(18, -1), Everywhere, UnknownApiVersions},
		{"a body at the bound", header(3, 1, append(null, make([]byte, MaxControlBody)...)...), Everywhere, 0},
		{"a body one byte beyond", header(3, 1, append(null, make([]byte, MaxControlBody+1)...)...), Everywhere, BodyTooLarge},
		{"a produce of that size", header(0, 3, append(null, make([]byte, MaxControlBody+1)...)...), Everywhere, 0},
	} {
		_, _, err := s.ParseRequest(c.frame, c.listener, "")
		var r *Rejection
		got := Reason(0)
		if errors.As(err, &r) {
			got = r.Reason
		}
		if got != c.want {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestParseRequestAllocatesNothingForAKnownClient(t *testing.T) {
	s := everything(t)
	frame := AppendRequest(nil, "client", 1, kmsg.NewPtrMetadataRequest())[4:]
	if n := testing.AllocsPerRun(100, func() { _, _, _ = s.ParseRequest(frame, Everywhere, "client") }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// KIP-511, KIP-482: ApiVersions answers with header version 0 always; others with tags when flexible.
func TestAppendResponseHeader(t *testing.T) {
	for _, c := range []struct {
		h    RequestHeader
		want []byte
	}{
		{RequestHeader{Key: kmsg.ApiVersions, Version: 3, CorrelationID: 5}, []byte{0, 0, 0, 4, 0, 0, 0, 5}},
		{RequestHeader{Key: kmsg.Metadata, Version: 8, CorrelationID: 5}, []byte{0, 0, 0, 4, 0, 0, 0, 5}},
		{RequestHeader{Key: kmsg.Metadata, Version: 9, CorrelationID: 5}, []byte{0, 0, 0, 5, 0, 0, 0, 5, 0}},
	} {
		if got := EndFrame(AppendResponseHeader(nil, c.h), 0, 0); !bytes.Equal(got, c.want) {
			t.Errorf("%+v: % x, want % x", c.h, got, c.want)
		}
	}
}

// What we answer, ResponseBody reads; what is cut off or answers something else is an error.
func TestResponseBody(t *testing.T) {
	for _, h := range []RequestHeader{
		{Key: kmsg.ApiVersions, Version: 3, CorrelationID: 5},
		{Key: kmsg.Metadata, Version: 8, CorrelationID: 5},
		{Key: kmsg.Metadata, Version: 9, CorrelationID: 5},
		{Key: KeyQuorum, CorrelationID: 5},
	} {
		req, _ := NewRequest(h)
		resp := req.ResponseKind()
		frame := AppendResponse(nil, h, resp)[4:]
		body, err := ResponseBody(h, frame)
		if err != nil || !bytes.Equal(body, resp.AppendTo(nil)) {
			t.Errorf("%+v: % x, %v", h, body, err)
		}
		for n := range len(frame) - len(body) {
			if _, err := ResponseBody(h, frame[:n]); err == nil {
				t.Errorf("%+v: no error for a header cut to %d bytes", h, n)
			}
		}
		h.CorrelationID++
		if _, err := ResponseBody(h, frame); err == nil {
			t.Errorf("%+v: no error for another correlation id", h)
		}
	}
}

func TestAppendUnsupportedVersionIsVersionZero(t *testing.T) {
	frame := AppendUnsupportedVersion([]byte("before"), RequestHeader{Key: kmsg.ApiVersions, Version: 99, CorrelationID: 77})
	want := []byte{0, 0, 0, 16, 0, 0, 0, 77, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5}
	if got := frame[len("before"):]; !bytes.Equal(got, want) {
		t.Errorf("% x, want % x", got, want)
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	if err := resp.ReadFrom(frame[len("before")+8:]); err != nil || kafka.ErrorCode(resp.ErrorCode) != kafka.UnsupportedVersion {
		t.Errorf("%v, %+v", err, resp)
	}
}

func TestValidClientSoftware(t *testing.T) {
	for _, ok := range []string{"librdkafka", "a", "7", "a-b", "a.b", "A--..9", "apache-kafka-java", "2.3.0"} {
		if !ValidClientSoftware(ok) {
			t.Errorf("%q refused", ok)
		}
	}
	for _, bad := range []string{"", "a b", " a", "a ", "-a", "a-", ".a", "a.", "-", "a_b", "a/b", "a\n", "é", "a\x00b"} {
		if ValidClientSoftware(bad) {
			t.Errorf("%q accepted", bad)
		}
	}
}
