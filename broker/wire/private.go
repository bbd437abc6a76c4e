package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// PrivateRequest carries opaque bytes under one of Fairlead's private keys, as a kmsg.Request. The body is Data and
// nothing else; after decoding, Data is a view of the frame.
type PrivateRequest struct {
	key     kmsg.Key
	version int16
	Data    []byte
}

// NewPrivateRequest makes a request of a private key.
func NewPrivateRequest(key kmsg.Key, data []byte) *PrivateRequest {
	return &PrivateRequest{key: key, Data: data}
}

func (r *PrivateRequest) Key() int16                 { return r.key.Int16() }
func (r *PrivateRequest) MaxVersion() int16          { return 0 }
func (r *PrivateRequest) SetVersion(v int16)         { r.version = v }
func (r *PrivateRequest) GetVersion() int16          { return r.version }
func (r *PrivateRequest) IsFlexible() bool           { return true }
func (r *PrivateRequest) AppendTo(dst []byte) []byte { return append(dst, r.Data...) }
func (r *PrivateRequest) ReadFrom(body []byte) error { r.Data = body; return nil }

// ResponseKind makes the empty response.
func (r *PrivateRequest) ResponseKind() kmsg.Response {
	return &PrivateResponse{key: r.key, version: r.version}
}

// PrivateResponse answers a [PrivateRequest] with opaque bytes.
type PrivateResponse struct {
	key     kmsg.Key
	version int16
	Data    []byte
}

// NewPrivateResponse makes a response of a private key.
func NewPrivateResponse(key kmsg.Key, data []byte) *PrivateResponse {
	return &PrivateResponse{key: key, Data: data}
}

func (r *PrivateResponse) Key() int16                 { return r.key.Int16() }
func (r *PrivateResponse) MaxVersion() int16          { return 0 }
func (r *PrivateResponse) SetVersion(v int16)         { r.version = v }
func (r *PrivateResponse) GetVersion() int16          { return r.version }
func (r *PrivateResponse) IsFlexible() bool           { return true }
func (r *PrivateResponse) AppendTo(dst []byte) []byte { return append(dst, r.Data...) }
func (r *PrivateResponse) ReadFrom(body []byte) error { r.Data = body; return nil }

// RequestKind makes the empty request.
func (r *PrivateResponse) RequestKind() kmsg.Request {
	return &PrivateRequest{key: r.key, version: r.version}
}
