// Package wire is the outer layer of Kafka's protocol: frames, request and response headers, the table of APIs and
// versions, and the encoder of fetch responses. What is inside a request or a response is kmsg's business.
//
// It is pure: bytes in, bytes out. It reads no socket (package conn does) and knows no API's meaning (package handler
// does). Every function may be called from any goroutine; a [FetchEncoder] belongs to one at a time.
//
// A frame on the wire, both ways:
//
//	+------------+--------+------+
//	| size int32 | header | body |      size counts header and body
//	+------------+--------+------+
//
// Request headers are version 1 or, when the body is flexible, version 2; response headers version 0 or 1:
//
//	request  1: key int16 · version int16 · correlation id int32 · client id nullable string (int16 length)
//	request  2: the same · tags
//	response 0: correlation id int32
//	response 1: correlation id int32 · tags            never for ApiVersions, whose header is always version 0
//
// # Which versions are served
//
// [APIs] is the one table. A [Set] is the part of it for which the broker has handlers: only what is in the set is
// parsed and advertised, so an API can neither be advertised without a handler nor handled without being known.
// Key and version outside the set make a [Rejection]: the connection is closed, save for ApiVersions, which is
// answered by [AppendUnsupportedVersion].
//
// # Views and copies
//
// Strings of a decoded request are copies. Byte fields (records, group metadata) are views into the frame and live as
// long as it does.
package wire
