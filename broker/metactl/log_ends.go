package metactl

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/leaderepoch"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// LogEndsKey is the private API key of [LogEndsRequest] on the internal listener, version 0 only.
const LogEndsKey int16 = 32010

// LogEndsRequest reports how far the logs of leaderless replicas go, so that an unclean election can take the most
// complete one. The protocol is soft on both sides:
//
//   - A broker sends it for every partition of its image that it holds a replica of and that has no leader, once when it
//     sees that there is none and then with each heartbeat, until there is one. Many partitions go in one request.
//   - The controller keeps what it needs until the partition has a leader, the reporting broker registers again or is
//     fenced, or the quorum leader changes, and asks for nothing: what got lost comes again with the next heartbeat.
//
// A report counts only for the leader epoch in which it was made.
type LogEndsRequest struct {
	BrokerID    kafka.NodeID
	BrokerEpoch kafka.BrokerEpoch
	Ends        []LogEnd
}

// LogEnd is the end of one replica's log.
type LogEnd struct {
	kafka.TopicIDPartition
	LeaderEpoch kafka.LeaderEpoch // of the leaderless partition in the broker's image
	EndOffset   kafka.Offset
	// Epochs are the last leader epochs of which the log has records, ascending, at most MaxEndEpochs; none for an empty log.
	Epochs []leaderepoch.Entry
}

// MaxEndEpochs bounds LogEnd.Epochs.
const MaxEndEpochs = 16

// LogEndsResponse answers [LogEndsRequest].
type LogEndsResponse struct{ ErrorCode int16 }

var (
	_ kmsg.Request  = (*LogEndsRequest)(nil)
	_ kmsg.Response = (*LogEndsResponse)(nil)
)

func (*LogEndsRequest) Key() int16                  { return LogEndsKey }
func (*LogEndsRequest) MaxVersion() int16           { return 0 }
func (*LogEndsRequest) SetVersion(int16)            {}
func (*LogEndsRequest) GetVersion() int16           { return 0 }
func (*LogEndsRequest) IsFlexible() bool            { return false }
func (*LogEndsRequest) ResponseKind() kmsg.Response { return new(LogEndsResponse) }

// AppendTo encodes: broker id int32, broker epoch int64, and an array of topic id (16 bytes), partition int32, leader
// epoch int32, end offset int64, and an array of epoch int32 and start offset int64.
func (r *LogEndsRequest) AppendTo(dst []byte) []byte {
	dst = kbin.AppendInt32(dst, int32(r.BrokerID))
	dst = kbin.AppendInt64(dst, int64(r.BrokerEpoch))
	dst = kbin.AppendArrayLen(dst, len(r.Ends))
	for _, e := range r.Ends {
		dst = append(dst, e.TopicID[:]...)
		dst = kbin.AppendInt32(dst, e.Partition)
		dst = kbin.AppendInt32(dst, int32(e.LeaderEpoch))
		dst = kbin.AppendInt64(dst, int64(e.EndOffset))
		dst = kbin.AppendArrayLen(dst, len(e.Epochs))
		for _, h := range e.Epochs {
			dst = kbin.AppendInt32(dst, int32(h.Epoch))
			dst = kbin.AppendInt64(dst, int64(h.Start))
		}
	}
	return dst
}

// ReadFrom decodes; nothing is kept of b.
func (r *LogEndsRequest) ReadFrom(b []byte) error {
	const endSize = 16 + 4 + 4 + 8 + 4 // without epochs
	d := kbin.Reader{Src: b}
	*r = LogEndsRequest{BrokerID: kafka.NodeID(d.Int32()), BrokerEpoch: kafka.BrokerEpoch(d.Int64())}
	n := int(d.ArrayLen())
	if n < 0 || n > len(d.Src)/endSize {
		return kbin.ErrNotEnoughData
	}
	for range n {
		var e LogEnd
		copy(e.TopicID[:], d.Span(16))
		e.Partition = d.Int32()
		e.LeaderEpoch = kafka.LeaderEpoch(d.Int32())
		e.EndOffset = kafka.Offset(d.Int64())
		epochs := int(d.ArrayLen())
		if epochs < 0 || epochs > MaxEndEpochs {
			return kbin.ErrNotEnoughData
		}
		for range epochs {
			e.Epochs = append(e.Epochs, leaderepoch.Entry{Epoch: kafka.LeaderEpoch(d.Int32()), Start: kafka.Offset(d.Int64())})
		}
		r.Ends = append(r.Ends, e)
	}
	return d.Complete()
}

func (*LogEndsResponse) Key() int16                 { return LogEndsKey }
func (*LogEndsResponse) MaxVersion() int16          { return 0 }
func (*LogEndsResponse) SetVersion(int16)           {}
func (*LogEndsResponse) GetVersion() int16          { return 0 }
func (*LogEndsResponse) IsFlexible() bool           { return false }
func (*LogEndsResponse) RequestKind() kmsg.Request  { return new(LogEndsRequest) }
func (r *LogEndsResponse) AppendTo(b []byte) []byte { return kbin.AppendInt16(b, r.ErrorCode) }

// ReadFrom decodes.
func (r *LogEndsResponse) ReadFrom(b []byte) error {
	d := kbin.Reader{Src: b}
	r.ErrorCode = d.Int16()
	return d.Complete()
}
