package quorum

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/vfs"
)

// Voter names a member of the quorum: a node id and the one data directory that may vote for it.
type Voter struct {
	Node      kafka.NodeID
	Directory kafka.DirectoryID
}

// possible tells whether the names are ones that a member may have.
func (v Voter) possible() bool { return v.Node >= 0 && !v.Directory.IsZero() }

// Timing has the quorum's intervals. Zero fields take the defaults.
type Timing struct {
	Tick     time.Duration // DefaultTick: heartbeats of a leader, machine ticks
	Election time.Duration // DefaultElection: a leader unheard of for [Election, 2*Election) is replaced; also the lease of CheckQuorum
	// Start is how long a voter that opened waits for word of a leader before it asks for votes: [Start, 5*Start). Much shorter than
	// Election, since it has just heard nobody: a quorum that starts as a whole has a leader soon, and where there is one
	// the pre-vote is refused.
	Start time.Duration
	// SuspectMax bounds the random wait before a pre-vote after the connection to the leader was closed.
	SuspectMax time.Duration
	JoinRetry  time.Duration // how often an outsider asks to be taken in
	// SnapshotRetry is when a snapshot that was sent and not acknowledged is sent again; large ones get more, see snapshotBytesPerSecond.
	SnapshotRetry time.Duration
}

// Defaults of [Timing].
const (
	DefaultTick       = 50 * time.Millisecond
	DefaultElection   = 500 * time.Millisecond
	DefaultStart      = 50 * time.Millisecond
	DefaultSuspectMax = 100 * time.Millisecond
	DefaultJoinRetry  = 250 * time.Millisecond

	DefaultSnapshotRetry = time.Second
)

// Limits bound the memory and the disk of a member. Zero fields take the defaults.
type Limits struct {
	MaxPending          int   // submits that wait
	MaxEntryBytes       int   // one decision
	MaxMessageBytes     int   // entries of one append message
	MaxInflightMessages int   // append messages to one follower without answer
	SnapshotBytes       int64 // entries since the last snapshot, in bytes; at least the size of that snapshot
	SnapshotEntries     int   // entries since the last snapshot
	TrailingEntries     int   // entries kept before a snapshot for followers that are a little behind
}

// Defaults of [Limits].
const (
	DefaultMaxPending          = 4096
	DefaultMaxEntryBytes       = 16 << 20
	DefaultMaxMessageBytes     = 1 << 20
	DefaultMaxInflightMessages = 64
	DefaultSnapshotBytes       = 4 << 20
	DefaultSnapshotEntries     = 10_000
	DefaultTrailingEntries     = 1_000
)

// Options make a [Node]. FS, Dir, Self, Machine, Send and Jitter are required.
type Options struct {
	FS        vfs.FS
	Dir       string // folder of the quorum's files, made by [Open]
	Self      Voter
	ClusterID string         // "" when not known yet: taken from the first leader that takes us in
	Peers     []kafka.NodeID // whom to ask to be taken in when no member is known; the transport knows their addresses
	Timing    Timing
	Limits    Limits
	Machine   StateMachine
	// Send hands m to the transport, which owns it from then on and may lose, delay or repeat it. It must not block and not call back.
	Send func(to kafka.NodeID, m Message)
	// Jitter gives a number in [0, n); it is the only randomness of the Node.
	Jitter func(n int64) int64
	// Observe gets facts for logs and metrics; nil is allowed.
	Observe func(Fact)
}

func (t Timing) withDefaults() Timing {
	setDefault(&t.Tick, DefaultTick)
	setDefault(&t.Election, DefaultElection)
	setDefault(&t.Start, DefaultStart)
	setDefault(&t.SuspectMax, DefaultSuspectMax)
	setDefault(&t.JoinRetry, DefaultJoinRetry)
	setDefault(&t.SnapshotRetry, DefaultSnapshotRetry)
	return t
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.MaxPending, DefaultMaxPending)
	setDefault(&l.MaxEntryBytes, DefaultMaxEntryBytes)
	setDefault(&l.MaxMessageBytes, DefaultMaxMessageBytes)
	setDefault(&l.MaxInflightMessages, DefaultMaxInflightMessages)
	setDefault(&l.SnapshotBytes, DefaultSnapshotBytes)
	setDefault(&l.SnapshotEntries, DefaultSnapshotEntries)
	setDefault(&l.TrailingEntries, DefaultTrailingEntries)
	return l
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
