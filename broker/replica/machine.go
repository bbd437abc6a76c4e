package replica

import (
	"time"

	"github.com/fairlead-io/fairlead/broker/kafka"
)

// Role is what this broker is for the partition.
type Role uint8

const (
	None     Role = iota // nobody leads, or there is no replica here
	Follower             // another broker leads
	Leader
)

func (r Role) String() string { return [...]string{"none", "follower", "leader"}[r] }

// Never is the time of something that has not happened: long before any reading of the clock.
const never = kafka.Elapsed(-1 << 62)

// Machine is the state of one replica.
type Machine struct {
	self  kafka.NodeID
	rules Rules
	limit Settings

	failed         bool // the log is out of service: see StepFailed
	role           Role
	leader         kafka.NodeID
	leaderEpoch    kafka.LeaderEpoch
	partitionEpoch kafka.PartitionEpoch
	replicas       int // how many there are, this one included

	start, end, flushed kafka.Offset
	hw                  kafka.Offset
	emptyFetch          bool // the last fetch as a follower returned nothing; only matters with KeepLastFetchedEpoch off

	// Of a leader.
	epochStart kafka.Offset   // log end when elected
	isr        []kafka.NodeID // committed, this broker included
	followers  []follower     // every other replica, by id
	recovering bool           // elected uncleanly and not yet declared recovered
	pending    pendingISR
	alters     uint64        // tickets handed out
	nextAlter  kafka.Elapsed // no expansion before, after one was refused
	selfEpoch  kafka.BrokerEpoch

	waitCommit waitQueue // acks=all: for the high watermark
	waitOwn    waitQueue // acks=1: for the position

	ready Ready
}

// follower is what a leader knows of another replica. Times and offsets are forgotten at each new leader epoch.
type follower struct {
	id         kafka.NodeID
	start, end kafka.Offset      // NoOffset until it has fetched in this leader epoch
	epoch      kafka.BrokerEpoch // by which it fetched
	lastFetch  kafka.Elapsed
	leaderEnd  kafka.Offset // the log end at its last fetch: reaching it later proves that it had caught up then
	caughtUp   kafka.Elapsed
	inISR      bool
	expanding  bool // in the pending change, and not in the committed ISR
	shrinking  bool // in the committed ISR, and not in the pending change
	lagging    bool // seen by the last tick: to be proposed for leaving
	broker     BrokerFacts
}

// BrokerFacts is what the image says of a broker.
type BrokerFacts struct {
	Epoch    kafka.BrokerEpoch // NoBrokerEpoch when it is not registered
	Alive    bool              // registered, not fenced
	Eligible bool              // alive, not stopping, and with space on its disk: it may join an ISR
}

// Settings are what may change while the machine lives.
type Settings struct {
	MinISR        int           // min.insync.replicas; more than there are replicas counts as all of them
	LagMax        time.Duration // replica.lag.time.max.ms
	FlushMessages int64         // flush.messages; 0 or less is never
	AlterRetry    time.Duration // between tries of an ISR change that failed for a while
}

// Log is what the log holds when the machine begins. All below Flushed is on the disk. Watermark is the checkpointed one, and
// may be anything.
type Log struct {
	Start, End, Flushed, Watermark kafka.Offset
}

// New is the machine of a replica that has no role yet. The watermark is clamped to the log (rule 10): a checkpoint may
// be older than a deletion of records, or newer than a log that lost its tail.
func New(self kafka.NodeID, rules Rules, s Settings, l Log) *Machine {
	return &Machine{
		self: self, rules: rules, limit: s,
		leader: kafka.NoNode, leaderEpoch: kafka.NoLeaderEpoch, partitionEpoch: -1,
		start: l.Start, end: l.End, flushed: min(l.Flushed, l.End), hw: min(max(l.Watermark, l.Start), l.End),
		epochStart: kafka.NoOffset, nextAlter: never, selfEpoch: kafka.NoBrokerEpoch,
		ready: Ready{AdvanceStart: kafka.NoOffset, EarlyWatermark: kafka.NoOffset},
	}
}

// Role is what this broker is for the partition.
func (m *Machine) Role() Role { return m.role }

// Leader is who leads, or NoNode.
func (m *Machine) Leader() kafka.NodeID { return m.leader }

// LeaderEpoch is the epoch of that leader.
func (m *Machine) LeaderEpoch() kafka.LeaderEpoch { return m.leaderEpoch }

// PartitionEpoch counts the changes of the partition's state that were seen.
func (m *Machine) PartitionEpoch() kafka.PartitionEpoch { return m.partitionEpoch }

// HighWatermark is the end of what is committed as far as this replica knows.
func (m *Machine) HighWatermark() kafka.Offset { return m.hw }

// LogStart and LogEnd bound the log.
func (m *Machine) LogStart() kafka.Offset { return m.start }
func (m *Machine) LogEnd() kafka.Offset   { return m.end }

// EpochStart is the log end when this leader was elected, NoOffset at others.
func (m *Machine) EpochStart() kafka.Offset { return m.epochStart }

// LatestKnown tells whether a leader may tell its watermark as the latest offset (KIP-207).
func (m *Machine) LatestKnown() bool {
	return m.role != Leader || m.hw >= m.epochStart || !m.rules.LatestAfterEpochStart
}

// ISR is the committed in-sync set of a leader. The slice is the machine's.
func (m *Machine) ISR() []kafka.NodeID { return m.isr }

// position is the end of what this replica counts for: see the package comment.
func (m *Machine) position() kafka.Offset {
	if m.limit.FlushMessages <= 0 || !m.rules.FlushGatesPosition {
		return m.end
	}
	unflushed := m.end - m.flushed
	if int64(unflushed) < m.limit.FlushMessages {
		return m.end
	}
	return m.flushed + kafka.Offset(m.limit.FlushMessages-1)
}

// minISR is the effective min.insync.replicas.
func (m *Machine) minISR() int { return min(m.limit.MinISR, m.replicas) }

// StepSettings takes new settings. A smaller min.insync.replicas may let the watermark move.
func (m *Machine) StepSettings(s Settings, now kafka.Elapsed) {
	m.limit = s
	m.askFlush()
	m.advance(now)
	m.completeOwn()
}
