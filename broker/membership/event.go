package membership

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Ticket numbers the requests of one machine, from 1.
type Ticket uint64

// Event is something that happened. Events are values; the machine keeps none of them.
type Event interface{ isEvent() }

// Tick says that time passed. Due at [Machine.Deadline] or any time before.
type Tick struct{}

// Ready says that the broker could serve now: logs are recovered, listeners are open.
type Ready struct{}

// Registered is the answer to a registration. Err is set when no answer came (connection lost, no leader known).
type Registered struct {
	Ticket Ticket
	Err    error
	Code   kafka.ErrorCode
	Epoch  kafka.BrokerEpoch
}

// HeartbeatDone is the answer to a heartbeat. Err is set when no answer came.
type HeartbeatDone struct {
	Ticket         Ticket
	Err            error
	Code           kafka.ErrorCode
	CaughtUp       bool
	Fenced         bool
	ShouldShutdown bool
}

// ImageApplied says how far this broker's image is and what it says of this broker.
type ImageApplied struct {
	Index  uint64            // the image's version
	Epoch  kafka.BrokerEpoch // of this broker in the image, NoBrokerEpoch when it is not there
	Fenced bool
	// Incarnation is of the process that registered.
	Incarnation kafka.UUID
}

// LeaderChanged says that another node answers for the controller now: a waiting retry goes out at once, and so does a heartbeat, since until
// the new one has heard of a broker it does not rely on it.
type LeaderChanged struct{ Leader kafka.NodeID }

// Shutdown asks for a controlled shutdown that takes at most Limit; 0 means that the broker leaves at once.
type Shutdown struct{ Limit time.Duration }

// DirectoryFailed says that a log directory went offline.
type DirectoryFailed struct{ Directory kafka.DirectoryID }

// DiskFull says whether there is space to append. Until told, there is.
type DiskFull struct{ Full bool }

// QuorumStalled tells whether this broker's member of the quorum takes nothing in, for lack of space or of file handles, or because
// its disk does not answer. The image stands still meanwhile. Until told, it does not.
type QuorumStalled struct{ Stalled bool }

func (Tick) isEvent()            {}
func (Ready) isEvent()           {}
func (Registered) isEvent()      {}
func (HeartbeatDone) isEvent()   {}
func (ImageApplied) isEvent()    {}
func (LeaderChanged) isEvent()   {}
func (Shutdown) isEvent()        {}
func (DirectoryFailed) isEvent() {}
func (DiskFull) isEvent()        {}
func (QuorumStalled) isEvent()   {}

// Effect is something that the caller must do, in the order returned.
type Effect interface{ isEffect() }

// SendRegistration asks to send Request to the quorum leader and to answer with [Registered]. The caller owns Request.
type SendRegistration struct {
	Ticket  Ticket
	Request *kmsg.BrokerRegistrationRequest
}

// SendHeartbeat asks to send Request to the quorum leader and to answer with [HeartbeatDone]. The caller owns Request.
type SendHeartbeat struct {
	Ticket  Ticket
	Request *kmsg.BrokerHeartbeatRequest
}

// EpochChanged gives the broker epoch that fetches and AlterPartition carry from now on.
type EpochChanged struct{ Epoch kafka.BrokerEpoch }

// SetServing starts or stops serving as a leader. It comes only when it changes; a machine begins not serving.
type SetServing struct {
	Serving bool
	Reason  string // for a person, when it stops
}

// Left says that the broker may stop now. Clean tells whether the controller let it go.
type Left struct{ Clean bool }

// Rejected says that the cluster will not have this broker as it is: the process should stop and say why.
type Rejected struct {
	Code   kafka.ErrorCode
	Reason string
}

func (SendRegistration) isEffect() {}
func (SendHeartbeat) isEffect()    {}
func (EpochChanged) isEffect()     {}
func (SetServing) isEffect()       {}
func (Left) isEffect()             {}
func (Rejected) isEffect()         {}
