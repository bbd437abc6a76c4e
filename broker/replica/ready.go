package replica

import "github.com/fairlead-io/fairlead/broker/kafka"

// Ready is what the host must do now, in the order of the fields. The slices are the machine's: they are valid until
// its next Step.
type Ready struct {
	Truncate     *Truncation
	AdvanceStart kafka.Offset // NoOffset when the log start stays
	StartEpoch   bool         // note (LeaderEpoch, log end) in the history
	Flush        bool         // the log end shall be flushed before what waits for it can be answered
	Watermark    bool         // HighWatermark has moved
	// EarlyWatermark is published before the truncation; NoOffset unless TruncateBeforeWatermark is off.
	EarlyWatermark kafka.Offset
	Alter          *Alter
	Completed      []Completion
}

// Truncation is a cut of the log. A plain one removes [To, log end). A full one removes everything and lets the log
// start at To.
type Truncation struct {
	To   kafka.Offset
	Full bool
}

// Alter is a proposed ISR for AlterPartition. Ticket comes back in StepAltered.
type Alter struct {
	Ticket         uint64
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch kafka.PartitionEpoch
	ISR            []Member
}

// Member is a replica in a proposed ISR with the broker epoch by which it fetched, NoBrokerEpoch when unknown.
type Member struct {
	ID    kafka.NodeID
	Epoch kafka.BrokerEpoch
}

// Completion is the end of a waiting produce.
type Completion struct {
	Ticket uint64
	Code   kafka.ErrorCode
}

// Ready hands out the effects of the steps since the last call. An ISR change is proposed here and not in a step, so
// that several steps under one lock propose once.
func (m *Machine) Ready(now kafka.Elapsed) Ready {
	m.proposeISR(now)
	r := m.ready
	m.ready = Ready{AdvanceStart: kafka.NoOffset, EarlyWatermark: kafka.NoOffset, Completed: r.Completed[:0]}
	return r
}
