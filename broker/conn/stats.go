package conn

import "sync/atomic"

// Stats is a snapshot of a server's counters. Gauges are marked; the rest only grow.
type Stats struct {
	Open          int64 // gauge: connections
	InflightBytes int64 // gauge: bytes of request slabs in use, internal listeners included
	Muted         int64 // gauge: connections that wait for their throttle to pass

	Accepted        uint64
	AcceptErrors    uint64 // such as no file descriptors left; accepting goes on
	RefusedPerIP    uint64
	RefusedSecurity uint64 // handshakes that failed

	ClosedIdle      uint64
	ClosedStalled   uint64 // requests that stopped arriving
	ClosedOversize  uint64
	ClosedRejected  uint64 // unknown key or version, malformed header, not admitted
	ClosedByHandler uint64

	Requests            uint64
	Replies             uint64 // written
	WaitedForInflight   uint64 // times a reader waited for slabs
	WaitedForConnection uint64 // times accepting waited

	BytesRead     uint64
	BytesWritten  uint64 // all, of which:
	BytesSendfile uint64 // file ranges from the page cache to the socket
	BytesCopied   uint64 // file ranges through a buffer
	ReadCalls     uint64
	WriteCalls    uint64
}

// counters are the live form of Stats.
type counters struct {
	open, muted                                                                atomic.Int64
	accepted, acceptErrors, refusedPerIP, refusedSecurity                      atomic.Uint64
	closedIdle, closedStalled, closedOversize, closedRejected, closedByHandler atomic.Uint64
	requests, replies, waitedForInflight, waitedForConnection                  atomic.Uint64
	bytesRead, bytesWritten, bytesSendfile, bytesCopied                        atomic.Uint64
	readCalls, writeCalls                                                      atomic.Uint64
}

// Stats are the counters so far.
func (s *Server) Stats() Stats {
	k := &s.counters
	return Stats{
		Open: k.open.Load(), InflightBytes: s.slabs.inUse.Load(), Muted: k.muted.Load(),
		Accepted: k.accepted.Load(), AcceptErrors: k.acceptErrors.Load(),
		RefusedPerIP: k.refusedPerIP.Load(), RefusedSecurity: k.refusedSecurity.Load(),
		ClosedIdle: k.closedIdle.Load(), ClosedStalled: k.closedStalled.Load(), ClosedOversize: k.closedOversize.Load(),
		ClosedRejected: k.closedRejected.Load(), ClosedByHandler: k.closedByHandler.Load(),
		Requests: k.requests.Load(), Replies: k.replies.Load(),
		WaitedForInflight: k.waitedForInflight.Load(), WaitedForConnection: k.waitedForConnection.Load(),
		BytesRead: k.bytesRead.Load(), BytesWritten: k.bytesWritten.Load(),
		BytesSendfile: k.bytesSendfile.Load(), BytesCopied: k.bytesCopied.Load(),
		ReadCalls: k.readCalls.Load(), WriteCalls: k.writeCalls.Load(),
	}
}
