package quorum

import (
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// StateMachine is what the quorum replicates. Its methods are called by the Node only, one at a time.
type StateMachine interface {
	// Apply folds one committed entry into the state; data is empty for the quorum's own entries, which change nothing but the index. data is
	// owned by the log and must not be changed. An error means that this node cannot go on: it goes offline.
	Apply(index uint64, data []byte) error
	// Snapshot encodes the applied state; the Node owns the result.
	Snapshot() []byte
	// Restore replaces the state by a snapshot taken at index. snapshot must not be kept or changed.
	Restore(index uint64, snapshot []byte) error

	// BecomeLeader comes after the leader's first entry of its term was applied; Decide and Tick come only between it and LoseLeadership.
	BecomeLeader(now kafka.Elapsed)
	LoseLeadership()
	// Decide answers a command against the speculative state. Empty data: nothing to append, the reply waits only for what is already proposed.
	Decide(cmd any, now kafka.Elapsed) (data []byte, reply any)
	// Tick may append too.
	Tick(now kafka.Elapsed) (data []byte)
}

// Suspect is the command by which the Node tells its machine that the process of a broker seems to have died. The reply is nil.
// Others may submit it too.
type Suspect struct {
	Node kafka.NodeID
	// Epoch names the registration of that process; NoBrokerEpoch when it is not known. A process that registered meanwhile is not meant.
	Epoch kafka.BrokerEpoch
}

// NotLeaderError refuses a submit at a node that does not lead: [kafka.NotController], with the node to ask instead.
type NotLeaderError struct {
	Leader kafka.NodeID // NoNode when unknown
}

func (e *NotLeaderError) Error() string {
	return fmt.Sprintf("submit to quorum: not the leader (leader is node %d)", e.Leader)
}

// Code is the protocol's refusal.
func (e *NotLeaderError) Code() kafka.ErrorCode { return kafka.NotController }

// ErrBusy refuses a submit when [Limits.MaxPending] wait already.
var ErrBusy = errors.New("submit to quorum: too many commands wait")

// ErrTooLarge refuses a submit whose records exceed [Limits.MaxEntryBytes].
var ErrTooLarge = errors.New("submit to quorum: decision too large for one entry")

// ErrStopped refuses a submit to a node that is closed or whose disk failed.
var ErrStopped = errors.New("submit to quorum: node stopped")
