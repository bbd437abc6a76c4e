package group

import (
	"fmt"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Machine is the groups of one shard. See the package comment for who may call what.
type Machine struct {
	config Config
	groups map[string]*group
	alarms alarms
	// inflight are appends without an outcome, in order of their ids.
	inflight []*inflight
	lastID   AppendID
	ready    Ready
	active   bool
}

// inflight is an append of one group's records on its way through the log.
type inflight struct {
	id      AppendID
	group   *group
	records []Record
	commits []kafka.TopicPartition // the offsets among the records
	// outcomes run once each, in order: after the records are applied (code None) or when it is known that they never
	// will be. TimedOut runs them early; the records are applied when they commit all the same.
	outcomes []func(now Time, code kafka.ErrorCode)
}

// New is a machine without groups, ready to replay.
func New(config Config) *Machine {
	return &Machine{config: config, groups: map[string]*group{}}
}

// Configure changes the settings; what is running goes on as it was decided.
func (m *Machine) Configure(config Config) { m.config = config }

// Handle decides one request. The types are those of [Refuse]; any other is a bug of the caller. The request and all its
// memory belong to the machine from then on.
func (m *Machine) Handle(now Time, t Ticket, req kmsg.Request, from Caller) {
	if !m.active {
		panic("group: request before Activate")
	}
	switch req := req.(type) {
	case *kmsg.JoinGroupRequest:
		m.join(now, t, req, from)
	case *kmsg.SyncGroupRequest:
		m.sync(now, t, req)
	case *kmsg.HeartbeatRequest:
		m.heartbeat(now, t, req)
	case *kmsg.LeaveGroupRequest:
		m.leave(now, t, req)
	case *kmsg.OffsetCommitRequest:
		m.commit(now, t, req)
	case *kmsg.OffsetFetchRequest:
		m.fetch(t, req)
	case *kmsg.OffsetDeleteRequest:
		m.deleteOffsets(now, t, req)
	case *kmsg.DescribeGroupsRequest:
		m.describe(t, req)
	case *kmsg.ListGroupsRequest:
		m.list(t, req)
	case *kmsg.DeleteGroupsRequest:
		m.deleteGroups(now, t, req)
	default:
		panic(fmt.Sprintf("group: no decision for %T", req))
	}
	m.Tick(now)
}

// Ready hands out what has to be done since the last call. The slices belong to the caller.
func (m *Machine) Ready() Ready {
	r := m.ready
	m.ready = Ready{}
	return r
}

// Groups is the number of groups, those of offsets alone included.
func (m *Machine) Groups() int { return len(m.groups) }

// HasReady tells whether [Machine.Ready] would give anything.
func (m *Machine) HasReady() bool { return len(m.ready.Answers)+len(m.ready.Appends) > 0 }

// Committed says that all records of the append are committed: they are applied, then what waited goes on.
func (m *Machine) Committed(now Time, id AppendID) {
	f := m.take(id)
	for _, r := range f.records {
		// The machine made these bytes itself.
		if err := m.Apply(r); err != nil {
			panic(fmt.Sprintf("group: apply of an own record: %v", err))
		}
	}
	m.finish(now, f, kafka.None)
}

// Failed says that the records are not in the log and never will be. code is the log's refusal.
func (m *Machine) Failed(now Time, id AppendID, code kafka.ErrorCode) {
	m.finish(now, m.take(id), coordinatorCode(code))
}

// TimedOut says that the records are still on their way and whoever waits for them has waited long enough.
// Committed or Failed comes later.
func (m *Machine) TimedOut(now Time, id AppendID) {
	for _, f := range m.inflight {
		if f.id == id {
			f.run(now, kafka.CoordinatorNotAvailable)
			m.Tick(now)
			return
		}
	}
}

// Activate ends replay: members of loaded groups have their session from now on, and requests may come.
func (m *Machine) Activate(now Time) {
	m.active = true
	for _, g := range m.sorted() {
		m.revive(now, g)
	}
	m.Tick(now)
}

// Tick fires the deadlines that are not after now.
func (m *Machine) Tick(now Time) {
	for {
		a := m.alarms.due(now.Elapsed)
		if a == nil {
			return
		}
		m.fire(now, a)
	}
}

// NextDeadline is when Tick has to be called at the latest.
func (m *Machine) NextDeadline() (kafka.Elapsed, bool) { return m.alarms.next() }

// append hands out records of a group; there is at least one. outcome may be nil.
func (m *Machine) append(g *group, records []Record, outcome func(Time, kafka.ErrorCode)) *inflight {
	m.lastID++
	f := &inflight{id: m.lastID, group: g, records: records}
	if outcome != nil {
		f.outcomes = append(f.outcomes, outcome)
	}
	g.writes++
	m.inflight = append(m.inflight, f)
	m.ready.Appends = append(m.ready.Appends, Append{ID: f.id, Records: records})
	return f
}

// after runs the outcome after the append; at once if there is none to wait for.
func (f *inflight) after(now Time, outcome func(Time, kafka.ErrorCode)) {
	if f == nil {
		outcome(now, kafka.None)
		return
	}
	f.outcomes = append(f.outcomes, outcome)
}

func (m *Machine) take(id AppendID) *inflight {
	if len(m.inflight) == 0 || m.inflight[0].id != id {
		panic(fmt.Sprintf("group: outcome of append %d is out of order", id))
	}
	f := m.inflight[0]
	m.inflight = m.inflight[1:]
	return f
}

func (m *Machine) finish(now Time, f *inflight, code kafka.ErrorCode) {
	f.group.writes--
	f.group.unpend(f.commits)
	f.run(now, code)
	m.reap(f.group)
	m.Tick(now)
}

func (f *inflight) run(now Time, code kafka.ErrorCode) {
	outcomes := f.outcomes
	f.outcomes = nil
	for _, outcome := range outcomes {
		outcome(now, code)
	}
}

func (m *Machine) answer(t Ticket, resp kmsg.Response) {
	m.ready.Answers = append(m.ready.Answers, Answer{t, resp})
}

// coordinatorCode turns the log's refusal into what clients of a coordinator understand, as Kafka does.
func coordinatorCode(code kafka.ErrorCode) kafka.ErrorCode {
	switch code {
	case kafka.UnknownTopicOrPartition, kafka.NotEnoughReplicas, kafka.NotEnoughReplicasAfterAppend, kafka.RequestTimedOut:
		return kafka.CoordinatorNotAvailable
	case kafka.NotLeaderOrFollower, kafka.FencedLeaderEpoch, kafka.KafkaStorageError:
		return kafka.NotCoordinator
	case kafka.MessageTooLarge, kafka.RecordListTooLarge, kafka.InvalidFetchSize:
		return kafka.UnknownServerError
	}
	return code
}
