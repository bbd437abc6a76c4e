package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AppendRequest appends a whole request frame: size, header, body, at the version that is set on the request.
func AppendRequest(dst []byte, clientID string, correlationID int32, req kmsg.Request) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = kbin.AppendInt16(dst, req.Key())
	dst = kbin.AppendInt16(dst, req.GetVersion())
	dst = kbin.AppendInt32(dst, correlationID)
	dst = kbin.AppendString(dst, clientID)
	if req.IsFlexible() {
		dst = append(dst, 0) // no tags
	}
	dst = req.AppendTo(dst)
	return EndFrame(dst, start, 0)
}

// AppendRawRequest appends a whole request frame with a body that is encoded already.
func AppendRawRequest(dst []byte, h RequestHeader, body []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = kbin.AppendInt16(dst, h.Key.Int16())
	dst = kbin.AppendInt16(dst, h.Version)
	dst = kbin.AppendInt32(dst, h.CorrelationID)
	dst = kbin.AppendString(dst, h.ClientID)
	if h.Flexible() {
		dst = append(dst, 0) // no tags
	}
	dst = append(dst, body...)
	return EndFrame(dst, start, 0)
}

// NewRequest makes an empty request of the header's key and version; false for a key that is not in the table.
func NewRequest(h RequestHeader) (kmsg.Request, bool) {
	var req kmsg.Request
	if h.Key == KeyRaft || h.Key == KeyQuorum || h.Key == KeyFollowed {
		req = &PrivateRequest{key: h.Key}
	} else if req = h.Key.Request(); req == nil {
		return nil, false
	}
	req.SetVersion(h.Version)
	return req, true
}

// DecodeRequest reads a body that [Set.ParseRequest] returned. Strings are copies, byte fields views into body.
// Every truncated or hostile body is an error, upon which the connection must be closed.
func DecodeRequest(h RequestHeader, body []byte) (kmsg.Request, error) {
	req, ok := NewRequest(h)
	if !ok {
		return nil, fmt.Errorf("decode request with key %d: unknown key", h.Key)
	}
	err := error(nil)
	if h.Key == kmsg.Produce {
		err = checkProduce(h.Version, body)
	}
	if err == nil {
		err = Decode(req, body)
	}
	if err != nil {
		return nil, fmt.Errorf("decode %s request version %d of %d bytes: %w", h.Key.Name(), h.Version, len(body), err)
	}
	return req, nil
}
