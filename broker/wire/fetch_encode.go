package wire

import (
	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Versions at which the layout of the fetch response changes. 4 is the first that is served.
const (
	fetchLogStart    = 5
	fetchSession     = 7
	fetchPreferred   = 11
	fetchFlexible    = 12
	fetchTopicIDs    = 13
	fetchLeaderHints = 16 // endpoints of the leaders that are hinted at
)

// Tags of a partition and of the response.
const (
	tagDiverging = 0
	tagLeader    = 1
	tagEndpoints = 0
)

// AppendFetchResponse encodes a response into frame, whose slices are used again from their start. Versions 4 to 18.
// With room in the slices it allocates nothing, however many partitions there are.
func AppendFetchResponse(frame *FetchFrame, h RequestHeader, resp *FetchResponse) {
	e := fetchEncoder{version: h.Version, flexible: h.Version >= fetchFlexible, splices: frame.Splices[:0]}
	dst := AppendResponseHeader(frame.Head[:0], h)
	dst = kbin.AppendInt32(dst, resp.Throttle)
	if e.version >= fetchSession {
		dst = kbin.AppendInt16(dst, int16(resp.Code))
		dst = kbin.AppendInt32(dst, resp.SessionID)
	}
	dst = e.appendLen(dst, len(resp.Topics))
	for i := range resp.Topics {
		dst = e.appendTopic(dst, i, &resp.Topics[i])
	}
	if e.flexible {
		dst = e.appendEndpoints(dst, resp.Endpoints)
	}
	frame.Head, frame.Splices = EndFrame(dst, 0, e.spliced), e.splices
}

type fetchEncoder struct {
	version  int16
	flexible bool
	splices  []Splice
	spliced  int // sum of their lengths
}

func (e *fetchEncoder) appendLen(dst []byte, n int) []byte {
	if e.flexible {
		return kbin.AppendCompactArrayLen(dst, n)
	}
	return kbin.AppendArrayLen(dst, n)
}

func (e *fetchEncoder) appendTopic(dst []byte, index int, t *FetchTopic) []byte {
	switch {
	case e.version >= fetchTopicIDs:
		dst = append(dst, t.ID[:]...)
	case e.flexible:
		dst = kbin.AppendCompactString(dst, t.Name)
	default:
		dst = kbin.AppendString(dst, t.Name)
	}
	dst = e.appendLen(dst, len(t.Partitions))
	for i := range t.Partitions {
		dst = e.appendPartition(dst, index, i, &t.Partitions[i])
	}
	if e.flexible {
		dst = append(dst, 0) // no tags
	}
	return dst
}

func (e *fetchEncoder) appendPartition(dst []byte, topic, index int, p *FetchPartition) []byte {
	dst = kbin.AppendInt32(dst, p.Partition)
	dst = kbin.AppendInt16(dst, int16(p.Code))
	dst = kbin.AppendInt64(dst, int64(p.HighWatermark))
	dst = kbin.AppendInt64(dst, int64(p.LastStable))
	if e.version >= fetchLogStart {
		dst = kbin.AppendInt64(dst, int64(p.LogStart))
	}
	dst = e.appendAborted(dst, p.Aborted)
	if e.version >= fetchPreferred {
		dst = kbin.AppendInt32(dst, int32(p.PreferredReplica))
	}
	// The records. Kafka never sends null here, also beside an error.
	if e.flexible {
		dst = kbin.AppendUvarint(dst, uint32(p.RecordBytes)+1)
	} else {
		dst = kbin.AppendInt32(dst, int32(p.RecordBytes))
	}
	if p.RecordBytes > 0 {
		e.splices = append(e.splices, Splice{At: len(dst), Topic: topic, Partition: index, Len: p.RecordBytes})
		e.spliced += p.RecordBytes
	}
	if e.flexible {
		dst = appendPartitionTags(dst, p)
	}
	return dst
}

func (e *fetchEncoder) appendAborted(dst []byte, aborted []AbortedTransaction) []byte {
	if e.flexible {
		dst = kbin.AppendCompactNullableArrayLen(dst, len(aborted), aborted == nil)
	} else {
		dst = kbin.AppendNullableArrayLen(dst, len(aborted), aborted == nil)
	}
	for _, a := range aborted {
		dst = kbin.AppendInt64(dst, int64(a.Producer))
		dst = kbin.AppendInt64(dst, int64(a.First))
		if e.flexible {
			dst = append(dst, 0) // no tags
		}
	}
	return dst
}

func appendPartitionTags(dst []byte, p *FetchPartition) []byte {
	diverging := p.DivergingEpoch != kafka.NoLeaderEpoch || p.DivergingEnd != kafka.NoOffset
	leader := p.Leader != kafka.NoNode || p.LeaderEpoch != kafka.NoLeaderEpoch
	count := byte(0)
	if diverging {
		count++
	}
	if leader {
		count++
	}
	dst = append(dst, count)
	if diverging {
		dst = append(dst, tagDiverging, 4+8+1) // tag, its size
		dst = kbin.AppendInt32(dst, int32(p.DivergingEpoch))
		dst = kbin.AppendInt64(dst, int64(p.DivergingEnd))
		dst = append(dst, 0) // no tags
	}
	if leader {
		dst = append(dst, tagLeader, 4+4+1)
		dst = kbin.AppendInt32(dst, int32(p.Leader))
		dst = kbin.AppendInt32(dst, int32(p.LeaderEpoch))
		dst = append(dst, 0)
	}
	return dst
}

func (e *fetchEncoder) appendEndpoints(dst []byte, endpoints []Endpoint) []byte {
	if len(endpoints) == 0 || e.version < fetchLeaderHints {
		return append(dst, 0) // no tags
	}
	dst = append(dst, 1, tagEndpoints)
	size := kbin.UvarintLen(uint32(len(endpoints)) + 1)
	for _, n := range endpoints {
		size += 4 + compactStringLen(n.Host) + 4 + 1 + 1 // node, host, port, null rack, no tags
		if n.Rack != "" {
			size += compactStringLen(n.Rack) - 1
		}
	}
	dst = kbin.AppendUvarint(dst, uint32(size))
	dst = kbin.AppendCompactArrayLen(dst, len(endpoints))
	for _, n := range endpoints {
		dst = kbin.AppendInt32(dst, int32(n.Node))
		dst = kbin.AppendCompactString(dst, n.Host)
		dst = kbin.AppendInt32(dst, n.Port)
		if n.Rack == "" {
			dst = append(dst, 0) // null
		} else {
			dst = kbin.AppendCompactString(dst, n.Rack)
		}
		dst = append(dst, 0) // no tags
	}
	return dst
}

func compactStringLen(s string) int { return kbin.UvarintLen(uint32(len(s))+1) + len(s) }
