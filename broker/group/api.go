package group

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Time is now, on both clocks: Elapsed decides deadlines, Wall dates records and decides retention.
type Time struct {
	Elapsed kafka.Elapsed
	Wall    kafka.Timestamp
}

// Ticket is the caller's name for a request that waits for its answer. It is opaque and unique within a shard.
type Ticket uint64

// Caller is who sends a request.
type Caller struct {
	ClientID   string
	ClientHost string
	// NewID is fresh randomness for every request that may need a member id (JoinGroup).
	NewID kafka.UUID
}

// Record is one record of __consumer_offsets. A nil Value is a tombstone.
// The machine owns the bytes of records that it hands out; they are not changed again.
type Record struct {
	Key, Value []byte
}

// AppendID names one [Append].
type AppendID uint64

// Append asks for records to be made durable, in order. They may be split over several batches; the append is
// committed when the last one is.
type Append struct {
	ID      AppendID
	Records []Record
}

// Answer is the response to the request of a ticket.
type Answer struct {
	Ticket   Ticket
	Response kmsg.Response
}

// Ready is what the owner must do: send Answers (they wait for nothing), then append Appends in order.
type Ready struct {
	Answers []Answer
	Appends []Append
}
