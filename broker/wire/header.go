package wire

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// RequestHeader is what precedes every request's body.
type RequestHeader struct {
	Key           kmsg.Key
	Version       int16
	CorrelationID int32
	// ClientID is empty when the client sent null.
	ClientID string
}

// Flexible tells whether the request and its response have tags.
func (h RequestHeader) Flexible() bool {
	api, ok := Lookup(h.Key)
	return ok && h.Version >= api.FirstFlexible
}

// Reason says why a request is not served.
type Reason uint8

const (
	// Malformed: the frame ends within the header, or a length in it is impossible.
	Malformed Reason = iota + 1
	// UnknownKey: the set has no such API, or not on this listener.
	UnknownKey
	// UnknownVersion: outside the served range.
	UnknownVersion
	// UnknownApiVersions: an ApiVersions request of a version we do not know. It alone is answered, by
	// AppendUnsupportedVersion, and the connection goes on.
	UnknownApiVersions
	// BodyTooLarge: the body is beyond the API's MaxBody.
	BodyTooLarge
)

func (r Reason) String() string {
	return [...]string{"", "malformed", "unknown key", "unknown version", "unknown version of ApiVersions", "body too large"}[r]
}

// Rejection is the error of a request that is not served. The connection must be closed, save for UnknownApiVersions.
type Rejection struct {
	Reason Reason
	Header RequestHeader // as far as it could be read
}

func (e *Rejection) Error() string {
	return fmt.Sprintf("request with key %d, version %d, correlation id %d: %s", e.Header.Key, e.Header.Version, e.Header.CorrelationID, e.Reason)
}

// ParseRequest splits a frame (without its size) into header and body; the body is a view of the frame. The listener's
// scope decides whether the internal APIs exist. When the client id equals lastClientID, that string is used again, so
// that the requests of one connection need no allocation. An error is always a *Rejection.
func (s *Set) ParseRequest(frame []byte, listener Scope, lastClientID string) (RequestHeader, []byte, error) {
	r := kbin.Reader{Src: frame}
	h := RequestHeader{Key: kmsg.Key(r.Int16()), Version: r.Int16(), CorrelationID: r.Int32()}
	if !r.Ok() {
		return h, nil, &Rejection{Malformed, h}
	}
	api, ok := s.Lookup(h.Key)
	if !ok || api.Scope == Internal && listener != Internal {
		return h, nil, &Rejection{UnknownKey, h}
	}
	served := api.Served.Contains(h.Version)
	if !served && h.Key != kmsg.ApiVersions {
		return h, nil, &Rejection{UnknownVersion, h}
	}
	if !served {
		return h, nil, &Rejection{UnknownApiVersions, h}
	}
	size := r.Int16()
	if size < -1 {
		return h, nil, &Rejection{Malformed, h}
	}
	if id := r.Span(int(max(size, 0))); string(id) == lastClientID {
		h.ClientID = lastClientID
	} else {
		h.ClientID = string(id)
	}
	if h.Version >= api.FirstFlexible {
		skipTags(&r)
	}
	if !r.Ok() {
		return h, nil, &Rejection{Malformed, h}
	}
	if len(r.Src) > api.MaxBody {
		return h, nil, &Rejection{BodyTooLarge, h}
	}
	return h, r.Src, nil
}

// skipTags reads over a header's tags. We know none.
func skipTags(r *kbin.Reader) {
	for n := r.Uvarint(); n > 0 && r.Ok(); n-- {
		_ = r.Uvarint() // the tag's number
		r.Span(int(r.Uvarint()))
	}
}
