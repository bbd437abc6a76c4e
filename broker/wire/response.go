package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// sizeLen is the length of the size before every frame.
const sizeLen = 4

// AppendResponse appends a whole response frame: size, header, body. It sets the response's version from the header.
func AppendResponse(dst []byte, h RequestHeader, resp kmsg.Response) []byte {
	start := len(dst)
	resp.SetVersion(h.Version)
	dst = AppendResponseHeader(dst, h)
	dst = resp.AppendTo(dst)
	return EndFrame(dst, start, 0)
}

// AppendResponseHeader appends room for the frame's size and the response header. [EndFrame] fills in the size.
func AppendResponseHeader(dst []byte, h RequestHeader) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = kbin.AppendInt32(dst, h.CorrelationID)
	if h.Key != kmsg.ApiVersions && h.Flexible() {
		dst = append(dst, 0) // no tags
	}
	return dst
}

// ResponseBody skips the header of a response frame (without its size) that answers the request with header h.
func ResponseBody(h RequestHeader, frame []byte) ([]byte, error) {
	r := kbin.Reader{Src: frame}
	correlationID := r.Int32()
	if h.Key != kmsg.ApiVersions && h.Flexible() {
		skipTags(&r)
	}
	if err := r.Complete(); err != nil {
		return nil, fmt.Errorf("parse header of a response to %s: %w", h.Key.Name(), err)
	}
	if correlationID != h.CorrelationID {
		return nil, fmt.Errorf("response to %s has correlation id %d, want %d", h.Key.Name(), correlationID, h.CorrelationID)
	}
	return r.Src, nil
}

// EndFrame fills in the size of the frame that starts at dst[start:] and is followed, or interspersed, by spliced
// more bytes that are not in dst.
func EndFrame(dst []byte, start, spliced int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-sizeLen+spliced))
	return dst
}

// AppendUnsupportedVersion appends the response frame to an ApiVersions request of a version that we do not know: the
// layout of version 0 with error 35 and the range of ApiVersions itself (KIP-511).
func AppendUnsupportedVersion(dst []byte, h RequestHeader) []byte {
	api, _ := Lookup(kmsg.ApiVersions)
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = int16(kafka.UnsupportedVersion)
	key := kmsg.NewApiVersionsResponseApiKey()
	key.ApiKey, key.MinVersion, key.MaxVersion = kmsg.ApiVersions.Int16(), api.Advertised.Min, api.Advertised.Max
	resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{key}
	h.Version = 0
	return AppendResponse(dst, h, resp)
}

// ValidClientSoftware tells whether a client software name or version is one that ApiVersions accepts:
// [a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?, otherwise the answer is INVALID_REQUEST and the connection stays open.
func ValidClientSoftware(s string) bool {
	for i := range len(s) {
		c := s[i]
		alphanumeric := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		inner := 0 < i && i < len(s)-1
		if !alphanumeric && !(inner && (c == '-' || c == '.')) {
			return false
		}
	}
	return s != ""
}
